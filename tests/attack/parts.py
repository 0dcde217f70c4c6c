"""The parts of the attack. Each tries so many cases from a seed, and returns what went wrong, as texts."""

from __future__ import annotations

import os
import random
import shutil
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path

from helpers.made_sources import chunks_of, source_of
from helpers.notes_world import notes

from workbench.errors import WorkbenchError
from workbench.retrieval.search import Collection, open_collection
from workbench.retrieval.variant import known
from workbench.stores.collections import check_collection, place
from workbench.stores.load import load
from workbench.stores.seal import SEAL
from workbench.stores.update import update
from workbench.types import Chunk, Result

TESTS = Path(__file__).resolve().parents[1]
ENDS_SECONDS = 120
MOST_SECONDS_FOR_A_GENERATION = 300
WORDS = ("ferry", "harbour", "tea", "crane", "the", "ședință", "2026-11-11", "世界", "", "a/b", "it's", '"', "?", "🫖", "CVE-2024-1234")
HOSTILE = ("<script>alert(1)</script>", "\x1b[31mred\x1b[0m", "\x00", "\ud800", "[link](javascript:x)", "'; DROP TABLE chunk; --",
           "{{7*7}}", "\u202ereversed", "=cmd|' /C calc'!A0", "a" * 5000, "\r\n\r\n", "%s%n%x", "../../etc/passwd", "$(id)", "NaN")  # fmt: skip


@dataclass
class Found:
    tried: int = 0
    failed: list[str] = field(default_factory=list)
    skipped: str = ""


@dataclass(frozen=True)
class Part:
    title: str
    run: Callable[[Path, int], Found]
    whole: int
    short: int


def home(directory: Path) -> None:
    os.environ["WORKBENCH_HOME"] = str(directory / "home")


def variants(sparse: bool = False) -> list[str]:
    """The published variants that a collection with one model can be asked by."""
    without = {"adr_0172_multilingual", *(() if sparse else ("bm25_sparse",))}
    return sorted(set(known()) - without)


def answer(collection: Collection, text: str, variant: str, **fields) -> list:
    found: Result = collection.search(text, variant, **fields)
    return [(h.rank, h.id, round(h.score, 9)) for h in found.hits]


# -- two processes ---------------------------------------------------------------------------------------------------
UPDATING = """
import sys
from attack.parts import home, source_of, Chunk
from pathlib import Path
from workbench.stores.update import update
home(Path(sys.argv[1]))
n = 0
while True:
    n += 1
    update("c", source_of([Chunk(1, "turning", 0, f"the ferry {'noon ' * (n % 5)}leaves at {n % 7}")]), progress=False)
    print(n, flush=True)
"""


def two_processes(directory: Path, count: int) -> Found:
    """Searches over all variants, opened anew or kept open, against a loop of updates; each answer is given again by a
    copy of the generation that it names."""
    home(directory)
    found, rng = Found(), random.Random(1)
    load(source_of(notes(count=40)), name="c", sparse=True, progress=False)
    kept, names = directory / "kept", variants(sparse=True)
    kept.mkdir()
    updating = _child(UPDATING, str(directory))
    seen: dict[str, dict] = {}
    end = time.monotonic() + MOST_SECONDS_FOR_A_GENERATION
    try:
        while found.tried < count or (len(seen) < 2 and updating.poll() is None and time.monotonic() < end):
            try:
                with open_collection("c") as collection:
                    generation = place("c").directory / collection.stores.manifest.generation
                    if generation.name not in seen:
                        shutil.copytree(generation, kept / generation.name)
                    for _ in range(rng.choice((1, 5, 40))):
                        text, name = " ".join(rng.sample(WORDS, 2)), rng.choice(names)
                        found.tried += 1
                        got = answer(collection, text, name)
                        asked = seen.setdefault(generation.name, {})
                        if asked.setdefault((text, name), got) != got:
                            found.failed.append(f"{name} {text!r}: two answers of one generation")
            except Exception as error:
                found.failed.append(f"{type(error).__name__}: {error}")
        alive = updating.poll() is None
    finally:
        updating.kill()
        said = updating.communicate()
    if not alive or len(seen) < 2:
        found.failed.append(f"the updates ended, or made no generation: {said[0][-30:]!r} {said[1][-300:]!r}")
    os.environ["WORKBENCH_HOME"] = str(directory / "again")
    for name, asked in seen.items():
        again = directory / "again" / "collections" / "c"
        shutil.rmtree(again, ignore_errors=True)
        again.mkdir(parents=True)
        shutil.move(str(kept / name), again / name)
        (again / "current").write_text(name + "\n")
        with open_collection("c") as collection:
            for (text, variant), got in asked.items():
                if answer(collection, text, variant) != got:
                    found.failed.append(f"{variant} {text!r} of {name}: another answer than its generation's")
    return found


# -- kills -----------------------------------------------------------------------------------------------------------
CHANGING = """
import sys
from attack.parts import home, source_of, chunks_of, load, update
from pathlib import Path
home(Path(sys.argv[1]))
texts = [f"{sys.argv[3]} the ferry {n}" for n in range(30)]
if sys.argv[2] == "load":
    load(source_of(chunks_of(*texts)), name="c", progress=False)
else:
    update("c", source_of(chunks_of(*texts[:3])), delete=["e20"], missing_ok=True, progress=False)
"""


def kills(directory: Path, count: int) -> Found:
    """SIGKILL at a random moment of a load or update; afterwards the collection is whole, and the command ends well."""
    home(directory)
    found, rng = Found(), random.Random(2)
    load(source_of(chunks_of(*(f"0 the ferry {n}" for n in range(30)))), name="c", progress=False)
    took = {}
    for kind in ("load", "update"):
        began = time.monotonic()
        _child(CHANGING, str(directory), kind, "first").communicate()
        took[kind] = time.monotonic() - began
    for number in range(count):
        kind = ("load", "update")[number % 2]
        child = _child(CHANGING, str(directory), kind, str(number))
        time.sleep(rng.uniform(0.1, 1.1) * took[kind])
        child.kill()
        child.communicate()
        found.tried += 1
        try:
            check_collection("c")
            with open_collection("c") as collection:
                assert len(answer(collection, "ferry", "adr_0172")) == 8
            if number % 10 == 9:
                again = _child(CHANGING, str(directory), kind, str(number))
                assert again.wait(ENDS_SECONDS) == 0, again.communicate()[1][-300:]
                assert sum(p.is_dir() for p in place("c").directory.iterdir()) <= 2
        except Exception as error:
            found.failed.append(f"{kind} {number}: {type(error).__name__}: {error}")
    return found


# -- queries and documents -------------------------------------------------------------------------------------------
def queries(directory: Path, count: int) -> Found:
    """Any text, filter, limit and offset through any variant is an answer or a named error."""
    home(directory)
    found, rng, names = Found(), random.Random(3), variants(sparse=True)
    load(source_of(notes(count=30)), name="c", sparse=True, progress=False)
    filters = [{}, {"project": "a"}, {"tags": ["x"]}, {"n": 2**70}, {"created": {"gte": "2026-01-01"}}, {"path": "a*"}, {"x": None}, {"n": {"gt": 1}}, {"": 1}]
    with open_collection("c") as collection:
        while found.tried < count:
            text = "".join(chr(rng.choice((rng.randrange(32, 127), rng.randrange(0x250), rng.randrange(0x110000)))) for _ in range(rng.randrange(30)))
            text = rng.choice((text, " ".join(rng.sample(WORDS, 3)), rng.choice(HOSTILE)))
            fields = {"limit": rng.choice((1, 8, 300, 2**62, 2**64)), "offset": rng.choice((0, 0, 3, 10**6, 2**63)), "filters": rng.choice(filters)}
            name = rng.choice(names)
            found.tried += 1
            try:
                collection.search(text, name, **fields)
            except WorkbenchError:
                pass
            except Exception as error:
                found.failed.append(f"{name} {text!r} {fields}: {type(error).__name__}: {error}")
    return found


def documents(directory: Path, count: int) -> Found:
    """Hostile documents are loaded, found by their own entity, and shown without a control character at the terminal."""
    home(directory)
    found, rng = Found(tried=count), random.Random(4)
    made = [Chunk(n, f"{rng.choice(HOSTILE)[:40]}-{n}", 0, f"{rng.choice(HOSTILE)} word{n} {rng.choice(HOSTILE)}", rng.choice(HOSTILE)[:200]) for n in range(count)]
    load(source_of(made), name="c", progress=False)
    with open_collection("c") as collection:
        for n in range(0, count):
            if n not in [h.id for h in collection.search(f"word{n}", "bm25_ranking", limit=8).hits]:
                found.failed.append(f"document {n} is not found by its own word")
    for n in range(0, count, max(1, count // 20)):
        shown = subprocess.run([sys.executable, "-c", "from workbench.cli import main; main()", "search", "c", f"word{n}"], capture_output=True, env=_env())
        if shown.returncode or any(c < 32 and c not in (9, 10) for c in shown.stdout):
            found.failed.append(f"document {n} at the terminal: {shown.returncode} {shown.stderr[-200:]!r}")
    return found


# -- corruptions -----------------------------------------------------------------------------------------------------
OPENING = """
import sys
from attack.parts import home, answer, open_collection, check_collection, WorkbenchError
from pathlib import Path
home(Path(sys.argv[1]))
for call in (lambda: answer(open_collection("c"), "ferry harbour", "adr_0172"), lambda: answer(open_collection("c"), "ferry", "notes_old"), lambda: check_collection("c") and "whole"):
    try:
        print(repr(call()))
    except WorkbenchError as error:
        print("named", type(error).__name__)
"""


def corruptions(directory: Path, places: int) -> Found:
    """Bytes changed at so many places of every file (0: one in every sixth file): found by name, or the answers are the same; never a crash."""
    home(directory)
    found, rng = Found(), random.Random(5)
    load(source_of(notes(count=30)), name="c", progress=False)
    with open_collection("c") as collection:
        answer(collection, "ferry", "notes_old")
    whole = _child(OPENING, str(directory)).communicate()[0].splitlines()
    generation = place("c").current()
    files = [p for p in (*generation.rglob("*"), generation.parent / "current") if p.is_file() and p.suffix != ".lock" and p.stat().st_size]
    for path in files if places else files[::6]:
        data = min(path.stat().st_size, path.stat().st_blocks * 512)
        for _ in range(places or 1):
            at = rng.randrange(data)
            with _changed(path, at, rng):
                child = _child(OPENING, str(directory))
                try:
                    out, err = child.communicate(timeout=ENDS_SECONDS)
                except subprocess.TimeoutExpired:
                    child.kill()
                    out, err = "", "it hangs"
                lines = out.splitlines()
                found.tried += 1
                name = f"{path.relative_to(generation.parent)} at {at}"
                if child.returncode or len(lines) != 3:
                    found.failed.append(f"{name}: ended with {child.returncode}: {err[-200:]}")
                elif any(line != good and not line.startswith("named") for line, good in zip(lines[:2], whole[:2], strict=True)):
                    found.failed.append(f"{name}: other answers, and no word")
                elif lines[2] == whole[2] and not _derived(path):
                    found.failed.append(f"{name}: check found nothing")
    return found


def _derived(path: Path) -> bool:
    """What a variant made is made again where it is damaged, so that nothing is left to be found."""
    return path.name.startswith("notes-") or path.name.endswith(f".{SEAL}")


class _changed:
    """A file with other bytes at one place, for a block."""

    def __init__(self, path: Path, at: int, rng: random.Random) -> None:
        self.path, self.at, self.bytes = path, at, rng.randbytes(rng.choice((1, 8)))

    def __enter__(self) -> None:
        self.kept = self.path.with_name(self.path.name + ".kept.lock")
        subprocess.run(["cp", "--sparse=always", str(self.path), str(self.kept)], check=True)
        with self.path.open("r+b") as file:
            file.seek(self.at)
            old = file.read(len(self.bytes))
            file.seek(self.at)
            file.write(bytes(a ^ (b or 1) for a, b in zip(old, self.bytes, strict=False)))

    def __exit__(self, *_: object) -> None:
        os.replace(self.kept, self.path)


# -- the rest --------------------------------------------------------------------------------------------------------
def clock(directory: Path, count: int) -> Found:
    """The clock set back by days between loads and updates changes nothing."""
    from datetime import UTC, datetime, timedelta

    from workbench.stores import load as loader
    from workbench.stores import update as update_apply

    home(directory)
    found, real, shift = Found(), datetime, [0]

    class Back(datetime):
        @classmethod
        def now(cls, tz=None):
            return real.now(tz or UTC) - timedelta(days=shift[0])

    loader.datetime = update_apply.datetime = Back  # type: ignore[misc]
    try:
        for n in range(count):
            shift[0] = n * 3
            text = f"the ferry {n}"
            if n % 2:
                update("c", source_of([Chunk(0, "e0", 0, text)]), progress=False)
            else:
                load(source_of(chunks_of(text, "tea")), name="c", progress=False)
            found.tried += 1
            with open_collection("c") as collection:
                if text not in [c.text for c in collection.stores.catalog.chunks(collection.stores.catalog.ids_where())]:
                    found.failed.append(f"step {n}: not the last content")
    finally:
        loader.datetime = update_apply.datetime = real  # type: ignore[misc]
    return found


def full_disk(directory: Path, count: int) -> Found:
    """A disk that is full at a random moment of a load: a named error, and the earlier collection is whole."""
    found, rng, disk = Found(), random.Random(6), directory / "disk"
    disk.mkdir()
    if subprocess.run(["mount", "-t", "tmpfs", "-o", "size=160m", "tmpfs", str(disk)], capture_output=True).returncode:
        return Found(skipped="skipped: this user may not mount a disk")
    try:
        home(disk)
        load(source_of(chunks_of("the ferry")), name="c", progress=False)
        for n in range(count):
            space = os.statvfs(disk)
            room = rng.randrange(0, 60 << 20)
            with (disk / "fill").open("wb") as file:
                os.posix_fallocate(file.fileno(), 0, max(1, space.f_bavail * space.f_frsize - room))
            try:
                load(source_of(chunks_of(*(f"{n} tea {i}" for i in range(rng.choice((5, 800)))))), name="d", progress=False)
            except WorkbenchError as error:
                if "full" not in str(error) and "room" not in str(error):
                    found.failed.append(f"room {room}: {error}")
            except Exception as error:
                found.failed.append(f"room {room}: {type(error).__name__}: {error}")
            found.tried += 1
            with open_collection("c") as collection:
                assert answer(collection, "ferry", "adr_0172")
            (disk / "fill").unlink()
    finally:
        subprocess.run(["umount", "-l", str(disk)], check=True)
    return found


def servers(directory: Path, count: int) -> Found:
    """Replies of a server that are no answer, whole, cut or changed: one named error each."""
    from test_remote import REPLIES, answering

    from workbench.sources.readers import open_source
    from workbench.stores.points.server import ClientPoints

    home(directory)
    found, rng = Found(), random.Random(7)
    while found.tried < count:
        status, body, headers = rng.choice(REPLIES)
        body = body[: rng.randrange(len(body) + 1)] + rng.choice((b"", b"}", b"\xff", b"null"))
        with answering(rng.choice((status, 200, 204, 418, 503)), body, headers) as url:
            for call in (lambda: ClientPoints(url, "c"), lambda: list(open_source(f"{url}/collections/c").chunks())):  # noqa: B023
                found.tried += 1
                try:
                    call()
                    found.failed.append(f"{body!r} was taken for an answer")
                except WorkbenchError:
                    pass
                except Exception as error:
                    found.failed.append(f"{body!r}: {type(error).__name__}: {error}")
    return found


def structure(directory: Path, count: int) -> Found:
    """Calls whose structure is changed in one place: none is served the answer of a call with another meaning."""
    from helpers.crossed_calls import FORMS, attack

    from workbench.matching.cassettes import request_of

    tried = attack([request_of(body(), uri) for uri, body in FORMS.values()], count, seed=8)
    return Found(tried.asked, [f"{kind}: {asked} is served {entry}" for kind, asked, entry in tried.wrong])


def secrets(directory: Path, count: int) -> Found:
    """Recordings with a secret in the text, in JSON, in an address and in a stream: none of it in the library's files."""
    import json

    from helpers.matching import cassette, chat, chat_answer, sse
    from matching.test_secrets import DETECTORS, TEXTS, deltas, openai_delta

    from workbench.matching.cassettes import load as load_cassettes
    from workbench.matching.library import Library

    found, rng, texts = Found(), random.Random(9), DETECTORS | TEXTS
    places = {
        "text": lambda text: cassette((chat(f"use {text} now"), chat_answer(f"no: {text}"))),
        "JSON": lambda text: cassette((chat(json.dumps({"x": [text]})), chat_answer(json.dumps({"x": text})))),
        "address": lambda text: cassette((chat("one"), chat_answer("two")), uri=f"https://api.openai.com/v1/chat/completions?q={text}"),
        "stream": lambda text: cassette((chat("one"), sse(*deltas(f"use {text} now", 3, openai_delta), "[DONE]"))),
    }
    for number in range(count):
        name, place_ = (rng.choice(list(texts)), rng.choice(list(places))) if count < len(texts) * len(places) else (
            list(texts)[number % len(texts)], list(places)[number // len(texts) % len(places)])  # fmt: skip
        text, secret = texts[name]
        folder = directory / f"s{number}"
        (folder / "in").mkdir(parents=True)
        (folder / "in" / "a.yaml").write_text(json.dumps(places[place_](text)))
        try:
            with Library(folder / "l.sqlite") as library:
                report = load_cassettes(library, folder / "in")
            said = str(report).encode() + b"".join(p.read_bytes() for p in folder.iterdir() if p.is_file())
            if secret.encode() in said:
                found.failed.append(f"{name} in {place_}: the secret is kept")
        except Exception as error:
            found.failed.append(f"{name} in {place_}: {type(error).__name__}: {error}")
        else:
            if not report.recordings and place_ != "address":
                found.failed.append(f"{name} in {place_}: nothing was recorded: {report.skipped}")
        found.tried += 1
    return found


def _env() -> dict[str, str]:
    return {**os.environ, "PYTHONPATH": os.pathsep.join((str(TESTS.parent), str(TESTS)))}


def _child(code: str, *arguments: str) -> subprocess.Popen[str]:
    signal.signal(signal.SIGINT, signal.default_int_handler)
    return subprocess.Popen([sys.executable, "-c", code, *arguments], env=_env(), stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)


PARTS = {
    "kills": Part("kills at random moments of loads and updates", kills, 200, 2),
    "queries": Part("generated queries over all variants", queries, 10_000, 100),
    "documents": Part("hostile documents, loaded, searched and shown", documents, 2000, 30),
    "corruptions": Part("places of every file with other bytes", corruptions, 10, 0),
    "two": Part("searches of one process while another updates", two_processes, 2000, 20),
    "servers": Part("replies of a server that are no answer", servers, 200, 12),
    "clock": Part("loads and updates with the clock set back", clock, 20, 2),
    "disk": Part("loads on a disk that becomes full", full_disk, 40, 1),
    "structure": Part("calls with a changed structure", structure, 20_000, 300),
    "secrets": Part("recordings with a secret in text, JSON, address or stream", secrets, 168, 12),
}
