"""Pass 2 of a load: one unit vector a chunk, streamed to `vectors.npy`, from the model or from the source.

The file is written in order and takes its name when it is whole: what is there is complete. Plain writes, no
memory map, so that a full disk is an error and not a signal.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator, Sequence
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

from workbench.sources.base import Source
from workbench.stores.progress import Report
from workbench.stores.staging import NAMED, some, texts_of
from workbench.stores.vectors.checks import VectorError, check_vectors
from workbench.stores.vectors.embedder import UNIT_TOLERANCE, Embedder
from workbench.stores.vectors.models import Model

if TYPE_CHECKING:
    import numpy as np

TEXTS_A_READ = 2048


def write_vectors(
    path: Path,
    source: Source,
    parts: Sequence[Path],
    rows: int,
    model: Model,
    cache: Path,
    report: Report,
    phase: str = "embed",
) -> VectorPass:
    """One model's vectors of the parts' rows in a file; returns what the pass found."""
    embedding = partial(report.phase, phase, rows)
    if source.vectors is None:
        embedding()
    else:
        report.phase("parts")
    embedder = Embedder(model, cache)
    try:
        made = VectorPass(embedder, report.tick, embedding)
        made.write(path, source, parts, rows)
    finally:
        embedder.close()
    return made


class VectorPass:
    """Counts what can only be said afterwards: texts that were cut, vectors that were not of unit length."""

    def __init__(
        self,
        embedder: Embedder,
        tick: Callable[[int], None],
        composing: Callable[[], None] = lambda: None,
    ) -> None:
        """`composing` is called when a source that makes its own vectors hands over the first; until then `tick` is
        told the texts that it had embedded, afterwards its vectors."""
        self.embedder, self.tick, self._composing = embedder, tick, composing
        self._begun = False
        self.truncated = self.scaled = 0
        self._cut_entities: list[str] = []

    def write(self, path: Path, source: Source, parts: Sequence[Path], rows: int) -> None:
        """Make the (rows, dim) file. Raises VectorError for a vector that is not finite, zero or of another
        length, and for a source that hands over more or fewer than its chunks."""
        import numpy as np

        partial, dim, done = path.with_suffix(".partial"), self.embedder.dim, 0
        with partial.open("wb") as file:
            header = {"descr": np.dtype("<f4").str, "fortran_order": False, "shape": (rows, dim)}
            np.lib.format.write_array_header_1_0(file, header)
            for batch in self._batches(source, parts):
                check_vectors(batch, dim, where=f"vectors from row {done}")
                done += len(batch)
                if done > rows:
                    break
                file.write(np.ascontiguousarray(self._unit(batch), "<f4").tobytes())
        if done != rows:
            raise VectorError(
                f"the source gave {'more than' if done > rows else done} vectors for {rows} chunks",
                where=source.location,
            )
        os.replace(partial, path)

    @property
    def warnings(self) -> list[str]:
        out = []
        if self.truncated:
            named = (
                some(self._cut_entities, self.truncated)
                if self._cut_entities
                else "parts of composed vectors"
            )
            out.append(
                f"{self.truncated} texts are longer than the model's {self.embedder.model.max_tokens} tokens: "
                f"their vectors are of the beginning only ({named})"
            )
        if self.scaled:
            out.append(f"{self.scaled} vectors of the source were scaled to unit length")
        return out

    def _batches(self, source: Source, parts: Sequence[Path]) -> Iterator[np.ndarray]:
        if source.vectors is not None:
            for batch in source.vectors(self._embed):
                if not self._begun:
                    self._composing()
                    self._begun = True
                yield batch
                self.tick(len(batch))
            return
        for entities, texts in texts_of(parts, TEXTS_A_READ):
            vectors, cut = self.embedder.embed_marked(texts, tick=self.tick)
            self.truncated += int(cut.sum())
            for row in cut.nonzero()[0][: NAMED - len(self._cut_entities)]:
                self._cut_entities.append(entities[row])
            yield vectors

    def _embed(self, texts: Sequence[str]) -> np.ndarray:
        vectors, cut = self.embedder.embed_marked(texts, tick=None if self._begun else self.tick)
        self.truncated += int(cut.sum())
        return vectors

    def _unit(self, batch: np.ndarray) -> np.ndarray:
        import numpy as np

        norms = np.linalg.norm(batch.astype(np.float64), axis=1)
        wrong = abs(norms - 1) > UNIT_TOLERANCE
        if not wrong.any():
            return batch
        self.scaled += int(wrong.sum())
        return batch / np.where(wrong, norms, 1.0)[:, None]
