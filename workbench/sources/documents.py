"""A document of a title and a text as chunks: one law for every reader whose documents are plain text."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from itertools import count

from workbench.sources.chunking import OVERLAP, check_sizes, split_plain
from workbench.types import Chunk, Facets


def titled(title: str, text: str) -> str:
    """Title, blank line, text; either alone where the other is empty."""
    return f"{title}\n\n{text}" if title and text else title or text


def document_chunks(
    ids: Iterable[int],
    entity_id: str,
    title: str,
    text: str,
    *,
    source: str = "",
    facets: Facets | None = None,
    chunk_size: int | None = None,
    overlap: int = OVERLAP,
) -> Iterator[Chunk]:
    """The chunks of one document, indexed from 0, each with the next of `ids`: one with all the text, or, with a
    `chunk_size`, as many as it takes. An empty document is one empty chunk."""
    whole = titled(title, text)
    parts = [whole] if chunk_size is None else split_plain(whole, chunk_size, overlap)
    for index, part, number in zip(count(), parts, ids, strict=False):
        yield Chunk(number, entity_id, index, part, title, source,
                    facets=facets or Facets())  # fmt: skip


def check_chunk_size(chunk_size: int | None, overlap: int) -> None:
    """Raises BadParameter for sizes that cannot be; no chunk size means one chunk a document."""
    if chunk_size is not None:
        check_sizes(chunk_size, overlap)
