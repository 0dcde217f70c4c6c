"""Load recorded calls into a library: all or nothing, repeatable, with a list of what was left out and why."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from workbench.matching.cassettes import Skipped, read
from workbench.matching.library import Library
from workbench.matching.rules import Seen


@dataclass(frozen=True, slots=True)
class LoadReport:
    """What a load did. `recordings` were read; `entries` and `answers` are new in the library; the rest were there.

    `formats` counts recordings by wire format, `redacted` what each redaction rule replaced, `opaque` the parts that
    a format has and the matcher only compares whole.
    """

    recordings: int
    entries: int
    answers: int
    formats: dict[str, int]
    redacted: dict[str, int]
    opaque: dict[str, int]
    skipped: tuple[Skipped, ...] = field(default_factory=tuple)

    @property
    def reasons(self) -> dict[str, int]:
        """How often each reason was given, the address or detail behind a colon left off; most frequent first."""
        counts = Counter(s.reason.split(":", 1)[0] for s in self.skipped)
        return dict(sorted(counts.items(), key=lambda c: (-c[1], c[0])))


def load(library: Library, source: Path | str, *, tick: Callable[[int], None] | None = None) -> LoadReport:
    """Read a source into the library, in one transaction; loading it again changes nothing. Raises CassetteError.

    `tick` is called with the number of interactions read so far.
    """
    before = library.counts()
    skipped: list[Skipped] = []
    formats: Counter[str] = Counter()
    opaque: Counter[str] = Counter()
    seen = Seen()
    clean = library.normal.redaction.text

    def calls() -> Iterator[tuple[Any, ...]]:
        for number, found in enumerate(read(source), 1):
            if tick is not None:
                tick(number)
            if isinstance(found, Skipped):
                skipped.append(Skipped(clean(found.file), found.number, clean(found.reason)))
                continue
            formats[found.request.api + (" streamed" if found.answer.events else "")] += 1
            opaque.update(p.name for m in found.request.messages for p in m.parts if p.kind == "opaque")
            yield found.request, found.answer, found.file, found.number

    made = library.record_many(calls(), seen)
    after = library.counts()
    return LoadReport(
        len(made), after["entries"] - before["entries"], after["answers"] - before["answers"],
        dict(sorted(formats.items())), dict(sorted(seen.worked.items())), dict(sorted(opaque.items())), tuple(skipped),
    )  # fmt: skip
