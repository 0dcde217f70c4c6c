"""What one search may take at the most: chunks a leg, rows a page, characters a row. Nothing can exceed it."""

from __future__ import annotations

from dataclasses import dataclass

from workbench.errors import BadParameter

K_CAP = 1_000
"""Chunks that a leg ranks at the most ("capped (for example 1,000)", notes search rebuild, 7)."""
PAGE_ROWS = 10
"""Rows of a page ("ids plus about 10 excerpts", notes search rebuild, Expected effect)."""
EXCERPT_CHARS = 900
"""Characters of a row's excerpt: one chunk as Basic Memory cuts it (900 characters)."""
EXCERPT_CHUNKS = 3
"""Chunks that an excerpt is made of at the most ("top 2 to 3 chunks", 4)."""
LABEL_CHARS = 200
"""Characters of a title, a path and a note type on a page: a choice, so that a hostile title cannot fill it."""
RERANK_CANDIDATES = 20
DOCUMENT_CHARS = 2_000
"""Basic Memory's reranker_candidates and max_document_chars (config_models.py, August 2026)."""
LEAST_K = 260
CHUNKS_A_ROW = 10
"""The old path asks for 10 chunks a row: 260 for a page of 25 and one more that tells of a next page."""

ID_BYTES = 64
"""What a row of (type, id, score, best chunk) may take in a budget: three numbers, a type, an id of 30 bytes."""
UTF8_BYTES = 4
"""Bytes of one character at the most."""


@dataclass(frozen=True, slots=True)
class Budget:
    """The fixed caps of a search.

    `k_fts` and `k_vec` are chunks a leg. With `growing` a page asks for `CHUNKS_A_ROW` chunks for each row up to
    its end, from `LEAST_K` up to these caps, as the document words it; without, every page asks for the caps, so
    that all pages are cut from one ranking. `excerpt_chars` is of the whole excerpt, however many chunks make it.
    """

    k_fts: int = K_CAP
    k_vec: int = K_CAP
    page_rows: int = PAGE_ROWS
    excerpt_chars: int = EXCERPT_CHARS
    rerank_candidates: int = RERANK_CANDIDATES
    document_chars: int = DOCUMENT_CHARS
    growing: bool = False

    def __post_init__(self) -> None:
        for name in ("k_fts", "k_vec"):
            if not 1 <= getattr(self, name) <= K_CAP:
                raise BadParameter(f"{name} is {getattr(self, name)}", do=f"Use 1 to {K_CAP:,}")
        for name in ("page_rows", "excerpt_chars", "rerank_candidates", "document_chars"):
            if getattr(self, name) < 1:
                raise BadParameter(f"{name} is {getattr(self, name)}", do="Use at least 1")

    def k(self, page_end: int) -> tuple[int, int]:
        """(k_fts, k_vec) of a page that ends at this row."""
        if not self.growing:
            return self.k_fts, self.k_vec
        wanted = max(LEAST_K, CHUNKS_A_ROW * (page_end + 1))
        return min(wanted, self.k_fts), min(wanted, self.k_vec)

    def bytes_at_most(self, rows: int) -> int:
        """Bytes of a page of `rows` with its ids, whatever the script; rerank texts stand apart."""
        page = rows * UTF8_BYTES * (self.excerpt_chars + 3 * LABEL_CHARS)
        return page + (rows + 1) * ID_BYTES

    @property
    def rerank_bytes_at_most(self) -> int:
        return self.rerank_candidates * self.document_chars * UTF8_BYTES
