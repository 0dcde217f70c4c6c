"""The text of the memory that was looked for: its title, then a conversation, in chunks of the sizes given."""

from __future__ import annotations

import random

from workbench.sources.replica import romanian
from workbench.sources.replica.parts import Parts
from workbench.sources.replica.sentences import pool
from workbench.sources.replica.spec import Incident, TargetChunk
from workbench.sources.replica.tables import SpecError
from workbench.sources.replica.words import SUBJECTS
from workbench.text import DEFAULT


def target_texts(incident: Incident, parts: Parts, seed: int, terms: int | None = None) -> list[str]:
    """The target's chunks. With `terms` the first one talks until it is that many terms long, whatever its
    characters. Raises SpecError where a chunk's conversation would hold a counted term that is not asked for."""
    rng = random.Random(f"{incident.name}/{seed}/target")
    turns = _Turns(rng, incident, parts)
    out = []
    for n, chunk in enumerate(incident.target.chunks):
        head = f"{incident.target.title}\n\n" if n == 0 and incident.target.title else ""
        out.append((head + turns.until(chunk, len(head), terms if n == 0 else None)).rstrip())
    return out


class _Turns:
    """Speakers who alternate; what they say holds no counted term unless the incident says so."""

    def __init__(self, rng: random.Random, incident: Incident, parts: Parts) -> None:
        self._rng, self._parts = rng, parts
        romanian_spoken = incident.target.language == "ro"
        self._openers = list(romanian.openers()) if romanian_spoken else []
        said = [s.split(": ", 1)[1] for subject in SUBJECTS for s in pool()["transcript", subject.name]]
        self._make = (lambda: romanian.turn(rng)) if romanian_spoken else (lambda: rng.choice(said))
        self._speaker = ""

    def until(self, chunk: TargetChunk, begun: int, terms: int | None) -> str:
        """Turns, one a line, until the chunk is long enough; what it must say comes within its first third."""
        lines: list[str] = []
        length = spoken = 0
        must = list(chunk.says)
        while (length < terms) if terms else (begun + spoken < chunk.characters):
            if must and (spoken * 3 >= chunk.characters or len(lines) == 3):
                lines.append(must.pop(0))
            else:
                lines.append(self._turn())
            spoken += len(lines[-1]) + 1
            length += len(DEFAULT.terms(lines[-1]))
        return "\n".join([*lines, *must])

    def _turn(self) -> str:
        for _ in range(100):
            text = self._openers.pop(0) if self._openers else self._make()
            if not self._parts.held(text):
                self._speaker = self._rng.choice([s for s in romanian.SPEAKERS if s != self._speaker])
                return f"{self._speaker}: {text}"
        raise SpecError("every turn of the target's conversation holds a counted term")
