"""New calls replayed against a library of others: generated ones with known truth, or real ones held out.

What is right is defined without the matcher. Generated: the instances are equal. Recorded: the answers that were
recorded say the same once volatile values are scrubbed. A model does not repeat itself, so the same request can have
another recorded answer: such hits are counted apart, since no matcher could have known.
"""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field

from records.adr_0003.hard_cases import Generated
from records.adr_0003.probe import Probe, probes
from records.adr_0003.sweep import Cut, Right, Rule, Settled, Tally, cut, settle, tally
from workbench.matching.cassettes import Recording
from workbench.matching.library import ADR_0003, Library, MatchingSettings
from workbench.matching.request import Answer
from workbench.matching.similarity import GATES
from workbench.matching.vectors import Encoder

FOLDS = 4
"""Every file is held out once, against three quarters of the others."""
LATER_SHARE = 0.3
"""By time: the latest 30 % of the calls are asked of a library of the earlier ones."""
_KEY = b"replay, the same tags in every run"


@dataclass(frozen=True)
class Replay:
    """Probed calls with the truth. `kinds` labels each call; `answerable` says whether a right entry was recorded;
    `texts` are the calls' last messages, `entry_texts` the entries' (of one library only)."""

    name: str
    entries: int
    probes: Sequence[Probe]
    right: Right
    answerable: Callable[[int], bool]
    same_request: Right
    kinds: Sequence[str]
    texts: Sequence[str] = field(default=(), repr=False)
    entry_texts: Mapping[int, str] = field(default_factory=dict, repr=False)

    @property
    def calls(self) -> int:
        return len(self.probes)

    def settled(self, rules: Sequence[Rule]) -> list[Settled]:
        return [settle(p, rules) for p in self.probes]

    def tally(self, rules: Sequence[Rule], kind: str | None = None) -> Tally:
        """Outcomes over all calls, or over those of one kind."""
        chosen = [i for i, k in enumerate(self.kinds) if kind in (None, k)]
        return tally(
            {i: settle(self.probes[i], rules) for i in chosen},
            self.right,
            self.answerable,
            self.same_request,
        )

    def cut(self, likeness: str, gates: tuple[str, ...] = ()) -> Cut:
        return cut(self.probes, self.right, likeness, gates)


def replay_generated(
    made: Generated, *, encoder: Encoder | None = None, settings: MatchingSettings = ADR_0003
) -> Replay:
    """The generated new calls against a library of the recorded ones."""
    with Library(settings=settings, key=_KEY) as library:
        ids = library.record_many(
            (c.request, c.answer, c.template, i) for i, c in enumerate(made.recorded)
        )
        instance = dict(zip(ids, (c.instance for c in made.recorded), strict=True))
        found = probes(library, (c.request for c in made.asked), encoder=encoder)
    known = made.instances
    return Replay(
        "generated",
        len(instance),
        found,
        lambda call, entry: instance[entry] == made.asked[call].instance,
        lambda call: made.asked[call].instance in known,
        lambda call, entry: False,
        [c.kind for c in made.asked],
        [c.request.last_text() for c in made.asked],
        dict(zip(ids, (c.request.last_text() for c in made.recorded), strict=True)),
    )


def replay_recordings(
    name: str,
    splits: Iterable[tuple[Sequence[Recording], Sequence[Recording]]],
    *,
    encoder: Encoder | None = None,
    settings: MatchingSettings = ADR_0003,
    gates: Sequence[str] = tuple(GATES),
) -> Replay:
    """Real recordings: for each (recorded, asked) split a library of its own; the calls of all splits together."""
    found: list[Probe] = []
    truth: list[tuple[str, dict[int, set[str]], dict[int, object], object]] = []
    texts: list[str] = []
    entries = 0
    meaning = _Meanings()
    for recorded, asked in splits:
        with Library(settings=settings, key=_KEY) as library:
            # The wire form of an answer says nothing about what is right, and takes longest to redact.
            ids = library.record_many(
                (r.request, Answer(r.answer.text, r.answer.calls), r.file, r.number)
                for r in recorded
            )
            answers: dict[int, set[str]] = {}
            for entry, recording in zip(ids, recorded, strict=True):
                answers.setdefault(entry, set()).add(meaning.of(library, recording.answer))
            params = {entry: dict(library.request(entry).params) for entry in answers}
            found += probes(library, (r.request for r in asked), encoder=encoder, gates=gates)
            truth += [
                (meaning.of(library, r.answer), answers, params, dict(r.request.params))
                for r in asked
            ]
            entries += len(answers)
        texts += [r.request.last_text() for r in asked]

    def right(call: int, entry: int) -> bool:
        mine, answers, *_ = truth[call]
        return mine in answers[entry]

    def same_request(call: int, entry: int) -> bool:
        probe, (*_, params, asked) = found[call], truth[call]
        return entry in (probe.exact, probe.normalised) and params[entry] == asked

    def answerable(call: int) -> bool:
        mine, answers, *_ = truth[call]
        return any(mine in held for held in answers.values())

    return Replay(
        name, entries, found, right, answerable, same_request, ["recorded"] * len(found), texts
    )


class _Meanings:
    """What an answer says once redacted and scrubbed; each computed once for all splits."""

    def __init__(self) -> None:
        self._known: dict[str, str] = {}

    def of(self, library: Library, answer: Answer) -> str:
        said = answer.meaning
        if said not in self._known:
            normal = library.normal
            clean = normal.redaction.answer(Answer(answer.text, answer.calls)).meaning
            self._known[said] = normal.scrubbing.apply(clean)
        return self._known[said]


def by_file(
    recordings: Sequence[Recording], folds: int = FOLDS
) -> list[tuple[list[Recording], list[Recording]]]:
    """(recorded, asked) for each fold; a file's calls stay together, and the fold is a hash of its name."""
    fold = {
        r.file: int(hashlib.sha256(r.file.encode("utf-8", "surrogatepass")).hexdigest(), 16) % folds
        for r in recordings
    }
    return [
        ([r for r in recordings if fold[r.file] != k], [r for r in recordings if fold[r.file] == k])
        for k in range(folds)
    ]


def by_time(
    recordings: Sequence[Recording], share: float = LATER_SHARE
) -> list[tuple[list[Recording], list[Recording]]]:
    """The latest `share` asked of the earlier ones; recordings without a time of their own are left out."""
    timed = sorted(
        (r for r in recordings if r.answer.created),
        key=lambda r: (r.answer.created, r.file, r.number),
    )
    at = len(timed) - round(len(timed) * share)
    return [(timed[:at], timed[at:])]
