"""`workbench matching …`: load recorded calls, ask them, decide the review queue, see rules, settings and the log."""

from __future__ import annotations

import json
import sys
from collections.abc import Callable, Mapping
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from workbench.cli import options as console
from workbench.errors import BadParameter

if TYPE_CHECKING:
    from workbench.matching.cassettes import LoadReport
    from workbench.matching.request import RecordedRequest
    from workbench.matching.schema import LibraryError

# ---- What `workbench matching` shows: one place for its console, its progress line and its  ----

new_console = partial(console.new_console, soft_wrap=True)

SKIPPED_SHOWN, REASONS_SAID = 10, 2
WIDTH_SHOWN = 160


def show_load(name: str, report: LoadReport) -> None:
    console = new_console()
    console.print(
        f"{name}: {report.recordings:,} recordings, {report.entries:,} new entries, {report.answers:,} new answers"
    )
    for form, count in report.formats.items():
        console.print(f"  {count:>6,}  {form}", markup=False)
    for rule, count in report.redacted.items():
        console.print(f"  {count:>6,}  redacted: {rule}", markup=False)
    if report.opaque:
        kinds = ", ".join(f"{n} {k}" for k, n in report.opaque.items())
        console.print(f"  parts compared whole only: {kinds}", markup=False, style="dim")
    if report.skipped:
        console.print(f"{len(report.skipped):,} skipped; --json lists all", style="yellow")
    for reason, count in list(report.reasons.items())[:SKIPPED_SHOWN]:
        first = next(s for s in report.skipped if s.reason.split(":", 1)[0] == reason)
        console.print(
            f"  {count:>6,}  {visible(reason)}  e.g. {visible(first.file)} no. {first.number}",
            markup=False,
        )


def nothing_read(source: Path, report: LoadReport) -> LibraryError:
    """The error for a source of which no call was read, with the most frequent reason."""
    from workbench.matching.schema import LibraryError

    why = "; ".join(
        f"{count:,} skipped: {reason}"
        for reason, count in list(report.reasons.items())[:REASONS_SAID]
    )
    return LibraryError(
        f"no recorded call was read{f' ({why})' if why else ''}",
        where=str(source),
        do="Give a vcrpy cassette or JSONL of calls",
    )


def progress(number: int) -> None:
    if number % 500 == 0:
        progress_line(f"{number:,} interactions read")


def progress_line(text: str) -> None:
    print(f"\r\033[K{text}", end="", file=sys.stderr, flush=True)


def print_json(value: Any) -> None:
    print(json.dumps(plain(value)))


def plain(value: Any) -> Any:
    from workbench.types import as_plain

    return as_plain(value)


def short(text: str) -> str:
    shown = " ".join(text.split())
    return visible(shown if len(shown) <= WIDTH_SHOWN else shown[:WIDTH_SHOWN] + " …")


def visible(text: str) -> str:
    from workbench.text import visible

    return visible(text)


# ---- `workbench matching …`: load recorded calls, ask them, decide the review queue, see ru ----

MISSED = 1
"""Exit code of `ask` where nothing was served."""

ENDINGS, PATHS = (".json", ".jsonl"), ("./", "../", "~/")
"""What one word ends or begins with that can only name a file."""

Name = Annotated[str, typer.Argument(help="The library; `workbench matching list` names them.")]
AsJson = Annotated[bool, typer.Option("--json", help="JSON and nothing else.")]
By = Annotated[str, typer.Option(help="Who decides; kept with the decision.")]


def register(app: typer.Typer) -> None:
    """Add `matching` and its commands to the command line."""
    room = typer.Typer(
        no_args_is_help=True,
        help="Record and replay: recorded calls answer new requests, or a person is asked.",
    )
    for name, command in _COMMANDS.items():
        room.command(name)(command)
    app.add_typer(room, name="matching")


def _load(
    source: Annotated[
        Path, typer.Argument(help="A vcrpy cassette, a JSONL file, or a folder of them.")
    ],
    name: Annotated[str, typer.Option("--as", metavar="NAME", help="The name of the library.")],
    quiet: Annotated[bool, typer.Option("--quiet", help="No progress on standard error.")] = False,
    as_json: AsJson = False,
) -> None:
    """Read recorded calls into a library, all or nothing; the same source again changes nothing."""
    from workbench.matching.cassettes import load
    from workbench.matching.library import new_library, open_library

    with new_library(name) as made, open_library(name, create=True) as library:
        shown = not quiet and not as_json
        try:
            report = load(library, source, tick=progress if shown else None)
        finally:
            if shown:
                progress_line("")
        if not report.recordings:
            raise nothing_read(source, report)
        made.keep()
        if library.encoder is not None:
            library.wait_for_vectors()
    if as_json:
        print_json(report)
    else:
        show_load(name, report)


def _ask(
    name: Name,
    request: Annotated[
        str,
        typer.Argument(help="A text, a file with a request's JSON body, or - for standard input."),
    ],
    uri: Annotated[
        str,
        typer.Option(
            help="The address of the request, which tells its format; OpenAI chat without one."
        ),
    ] = "",
    as_json: AsJson = False,
) -> None:
    """Answer a request from the library or not at all: exit code 0 if served, 1 if missed."""
    from workbench.matching.cascade import ask
    from workbench.matching.library import open_library

    with open_library(name) as library:
        outcome = ask(library, _request(request, uri))
    if as_json:
        print_json(outcome)
    else:
        console = new_console()
        for step in outcome.steps:
            score = "" if step.score is None else f"{step.score:.3f}"
            console.print(
                f"{step.tier:<11} {step.verdict:<7} {score:>5}  ", visible(step.why), markup=False
            )
        if outcome.served:
            console.print(visible(outcome.answer.text), markup=False)
            for tool, arguments in outcome.answer.calls:
                console.print(visible(f"{tool} {arguments}"), markup=False)
        elif outcome.candidates:
            console.print(f"for review: {', '.join(map(str, outcome.candidates))}", style="yellow")
    if not outcome.served:
        raise typer.Exit(MISSED)


def _queue(
    name: Name,
    state: Annotated[
        str, typer.Option(help="open, approved, rejected, superseded, answered, or all.")
    ] = "open",
    limit: Annotated[int, typer.Option(min=1)] = 20,
    after: Annotated[int, typer.Option(help="Only candidates with a higher number.")] = 0,
    as_json: AsJson = False,
) -> None:
    """List what waits for review: the missed request beside the entry that came near, and why it was not served."""
    from workbench.matching.library import open_library
    from workbench.matching.queue import STATES, candidates
    from workbench.matching.similarity import broken_words

    if state not in (*STATES, "all"):
        raise BadParameter(f"unknown state {state!r}", do=f"Use one of {', '.join(STATES)}, all")
    with open_library(name) as library:
        found = candidates(library, None if state == "all" else state, limit, after)
        rows = [(c, library.request(c.request_id), library.request(c.entry_id)) for c in found]
    if as_json:
        print_json(
            [{**plain(c), "request": r.last_text(), "entry": e.last_text()} for c, r, e in rows]
        )
        return
    console = new_console()
    for c, asked, entry in rows:
        broken = f"  not the same {broken_words(c.broken)}" if c.broken else ""
        console.print(
            f"{c.id}  {c.state}  {c.tier} {c.score:.3f}{broken}", style="bold", markup=False
        )
        console.print(
            f"  asked  {short(asked.last_text())}\n  entry  {short(entry.last_text())}",
            markup=False,
        )
    if not rows:
        console.print(f"no candidate is {state}")


def _approve(
    name: Name, candidate: Annotated[int, typer.Argument()], by: By = "", as_json: AsJson = False
) -> None:
    """Serve this entry for this request from now on; the request's other candidates are closed."""
    from workbench.matching.queue import approve

    _decide(name, candidate, by, as_json, approve)


def _reject(
    name: Name, candidate: Annotated[int, typer.Argument()], by: By = "", as_json: AsJson = False
) -> None:
    """Never queue or serve this entry for this request again; takes an approval back."""
    from workbench.matching.queue import reject

    _decide(name, candidate, by, as_json, reject)


def _decide(name: str, candidate: int, by: str, as_json: bool, decide: Callable[..., Any]) -> None:
    from workbench.matching.library import open_library

    with open_library(name) as library:
        found = decide(library, candidate, by)
    if as_json:
        print_json(found)
    else:
        new_console().print(f"candidate {found.id} is {found.state}")


def _rules(
    name: Annotated[str, typer.Argument(help="A library, to show its own rules too.")] = "",
    add: Annotated[
        Path | None, typer.Option(help="A TOML file of rules to add to the library.")
    ] = None,
    to: Annotated[
        str, typer.Option(help="Which set --add extends: redaction or scrubbing.")
    ] = "scrubbing",
    drop: Annotated[
        str, typer.Option(help="Scrub no more by this rule: what it hides is asked about here.")
    ] = "",
    test: Annotated[str, typer.Option(help="A text to show the rules' work on.")] = "",
    as_json: AsJson = False,
) -> None:
    """Show what is redacted before it is stored and what is scrubbed before it is compared; add rules of your own."""
    from workbench.matching.library import Library, open_library

    if (add is not None or drop) and not name:
        raise BadParameter(
            "rules are a library's own", do="Name it: workbench matching rules NAME --add FILE"
        )
    with open_library(name) if name else Library() as library:
        for rule in _rules_of(add) if add else ():
            library.add_rule(to, rule)
        if drop:
            library.drop_rule(drop)
        sets = {kind: library.rules(kind) for kind in ("redaction", "scrubbing")}
    told = {
        kind: [
            {"name": r.name, "replace": r.replace, "pattern": r.pattern.pattern, "why": r.why}
            for r in rules.rules
        ]
        for kind, rules in sets.items()
    }
    if test:
        told["test"] = sets["scrubbing"].apply(sets["redaction"].apply(test))
    if as_json:
        print_json(told)
        return
    console = new_console()
    for kind, rules in sets.items():
        console.print(kind, style="bold")
        for rule in rules.rules:
            console.print(f"  {rule.name:<26} {rule.replace:<14} {rule.why}", markup=False)
    if test:
        console.print(visible(told["test"]), markup=False)


def _rules_of(path: Path) -> list[Mapping[str, Any]]:
    import tomllib

    from workbench.matching.rules import read_rules

    read_rules(path)  # refuses what is no rule, with the reason
    return tomllib.loads(path.read_text(encoding="utf-8")).get("rule", [])


def _log(
    name: Name, limit: Annotated[int, typer.Option(min=1)] = 20, as_json: AsJson = False
) -> None:
    """The newest calls: outcome, tier, score, thresholds, and why the tiers before did not answer."""
    from workbench.matching.call_log import read_log
    from workbench.matching.library import open_library

    with open_library(name) as library:
        rows = read_log(library.db, limit)
    if as_json:
        print_json(rows)
        return
    console = new_console()
    for row in rows:
        score = "" if row.score is None else f"{row.score:.3f}"
        console.print(
            f"{row.id}  {row.outcome:<6} {row.tier:<11} {score:>5}", style="bold", markup=False
        )
        for tier, verdict, _, why in row.steps:
            console.print(f"    {tier}: {verdict}, {visible(why)}", markup=False)


def _settings(
    name: Name,
    changes: Annotated[
        list[str] | None,
        typer.Argument(metavar="[NAME=VALUE]…", help="Settings to change, values as JSON."),
    ] = None,
    as_json: AsJson = False,
) -> None:
    """Show a library's settings with where each default comes from, or change some: serve=0.97 gates='[]' tail_n=null."""
    from workbench.matching.library import SOURCES, open_library

    with open_library(name) as library:
        settings = library.change(**dict(map(_change, changes))) if changes else library.settings
    values = plain(settings)
    if as_json:
        print_json(values)
        return
    for key, value in values.items():
        new_console().print(f"{key:<17} {json.dumps(value):<28} {SOURCES[key]}", markup=False)


def _change(pair: str) -> tuple[str, Any]:
    key, mark, value = pair.partition("=")
    if not mark:
        raise BadParameter(f"{pair!r} is not of the form NAME=VALUE", do="Write e.g. serve=0.97")
    try:
        return key, json.loads(value)
    except ValueError:
        return key, value


def _list(as_json: AsJson = False) -> None:
    """The libraries of this home and what they hold."""
    from workbench.matching.library import library_names, open_library

    found = {}
    for name in library_names():
        with open_library(name) as library:
            found[name] = library.counts()
    if as_json:
        print_json(found)
        return
    for name, counts in found.items():
        new_console().print(
            f"{name}  " + ", ".join(f"{n:,} {k}" for k, n in counts.items()), markup=False
        )


_COMMANDS: dict[str, Callable[..., None]] = {
    "load": _load,
    "ask": _ask,
    "queue": _queue,
    "approve": _approve,
    "reject": _reject,
    "rules": _rules,
    "log": _log,
    "settings": _settings,
    "list": _list,
}


def _request(text: str, uri: str) -> RecordedRequest:
    from workbench.matching.cassettes import CHAT_URI, request_of
    from workbench.matching.formats.wire import NotUnderstood
    from workbench.matching.request import plain

    named = sys.stdin.read() if text == "-" else _file_text(text)
    if named is None:
        if why := _meant_as_file(text):
            raise BadParameter(
                why,
                where=text,
                do="Name a file with a request's JSON body, or - for standard input",
            )
        return plain(text)
    try:
        body = json.loads(named)
    except ValueError as error:
        raise BadParameter(f"the request is no JSON: {error}", where=text) from error
    if not isinstance(body, dict):
        raise NotUnderstood("the request is no JSON object", where=text)
    return request_of(body, uri or CHAT_URI)


def _meant_as_file(text: str) -> str:
    """Why a text is no question: it is empty, a directory, or one word that can only be the name of a file; else ""."""
    if not text.strip():
        return "the request is empty"
    try:
        if Path(text).is_dir():
            return "the request is a directory"
    except (OSError, ValueError):
        return ""
    one_word = len(text.split()) == 1
    return (
        "there is no such file"
        if one_word and text.lower().endswith(ENDINGS) or one_word and text.startswith(PATHS)
        else ""
    )


def _file_text(text: str) -> str | None:
    try:
        return Path(text).read_text(encoding="utf-8") if Path(text).is_file() else None
    except (OSError, ValueError):  # a prompt can be too long, or too odd, to be a path
        return None
