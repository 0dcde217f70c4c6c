"""The cross-encoder: a relevance score of each text for a query, the two read together."""

from __future__ import annotations

from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from functools import cache
from threading import Lock
from typing import TYPE_CHECKING

from workbench.stores.vectors.embedder import default_workers
from workbench.stores.vectors.model_files import PACKAGED_RERANKER, locate_packaged
from workbench.text import well_formed

if TYPE_CHECKING:
    from fastembed.rerank.cross_encoder import TextCrossEncoder


@dataclass(frozen=True, slots=True)
class Reranker:
    """ms-marco-MiniLM-L-12-v2 as int8, English. `sha256` is of its ONNX file."""

    name: str
    sha256: str
    max_tokens: int
    _opened: TextCrossEncoder

    def scores(self, query: str, texts: Sequence[str]) -> list[float]:
        """One logit a text, in the order of the texts: greater is more relevant, 0 is even odds.

        Each pair is scored alone, so a score does not depend on the other texts. A pair beyond `max_tokens` is
        cut at the end of its longer half.
        """
        asked = well_formed(query)

        def one(text: str) -> float:
            return float(next(iter(self._opened.rerank(asked, [well_formed(text)], batch_size=1))))

        with ThreadPoolExecutor(default_workers()) as pool:
            return list(pool.map(one, texts))


_opening = Lock()


def reranker() -> Reranker:
    """The packaged cross-encoder, opened once a process. Raises NotAvailable or DamagedModel."""
    with _opening:  # fastembed refuses a second registration
        return _open()


@cache
def _open() -> Reranker:
    from fastembed.common.model_description import ModelSource
    from fastembed.rerank.cross_encoder import TextCrossEncoder

    files = locate_packaged(PACKAGED_RERANKER)
    name = f"workbench/{files.name}"
    TextCrossEncoder.add_custom_model(
        model=name, model_file="model.onnx", sources=ModelSource(hf=name)
    )
    opened = TextCrossEncoder(
        name,
        specific_model_path=str(files.directory),
        local_files_only=True,
        threads=1,
        providers=["CPUExecutionProvider"],
    )
    return Reranker(files.name, PACKAGED_RERANKER.sha256, files.max_tokens, opened)
