"""The old path's constants, by name and source, and the stopgap's three switches.

BM is Basic Memory's public code as of August 2026 (repository/search_repository_base.py, config_models.py); the
document describes a later state of it.
"""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum
from typing import Literal

from workbench.errors import BadParameter
from workbench.retrieval.fusions import MAX_MIN_BONUS

PAGE_ROWS = 25
"""Results of a page: with one row more that tells of a next page, 10 chunks a row make the document's 260."""
CHUNKS_A_ROW = 10
"""BM: candidate_limit = max(semantic_vector_k, 10 × (limit + offset)), used as a budget of chunks."""
CANDIDATE_LIMIT = CHUNKS_A_ROW * (PAGE_ROWS + 1)
"""260: the first vector window, the full-text leg's rows, and what admitted rows are compared with."""
ROW_BUDGET = PAGE_ROWS + 1
"""The stopgap's "row budget": the rows of a page and one more. The document names no number."""
SCAN_LIMIT = 50_000
"""BM: VECTOR_FILTER_SCAN_LIMIT; the document: "up to 50,000"."""
MIN_SIMILARITY = 0.55
"""BM: semantic_min_similarity; 0 switches the floor off."""
HYDRATION_BATCH = 250
"""BM: VECTOR_HYDRATION_BATCH_SIZE, rows fetched by one statement."""

LexicalUnit = Literal["larger", "document", "chunks"]


class Exit(StrEnum):
    """Every way out of the widening loop, in the order in which they are looked for."""

    BUDGET = "budget met"
    EXHAUSTED = "ranking exhausted"
    FLOOR = "similarity floor"
    LIMIT = "50,000"
    UNFILTERED = "no filter"


@dataclass(frozen=True, slots=True)
class OldSettings:
    """The old path's knobs.

    `lexical`: what a row's full-text rank is of: its whole document, its best chunk, or the larger of both. The
    document says that both are computed and not how they are joined: "larger" is assumed.
    """

    candidate_limit: int = CANDIDATE_LIMIT
    row_budget: int = ROW_BUDGET
    scan_limit: int = SCAN_LIMIT
    min_similarity: float = MIN_SIMILARITY
    hydration_batch: int = HYDRATION_BATCH
    bonus: float = MAX_MIN_BONUS
    lexical: LexicalUnit = "larger"

    def __post_init__(self) -> None:
        for name in ("candidate_limit", "row_budget", "scan_limit", "hydration_batch"):
            if getattr(self, name) < 1:
                raise BadParameter(f"{name} is {getattr(self, name)}", do="Use at least 1")
        if self.lexical not in ("larger", "document", "chunks"):
            raise BadParameter(f"unknown lexical unit {self.lexical!r}", do="Use larger, document or chunks")


@dataclass(frozen=True, slots=True)
class Switches:
    """The stopgap's three parts, each on or off (notes search rebuild, Suggested order of work, 1)."""

    row_budget: bool = False
    type_pushed: bool = False
    no_content: bool = False

    @property
    def name(self) -> str:
        on = [n.replace("_", " ") for n in ("row_budget", "type_pushed", "no_content") if getattr(self, n)]
        return {0: "old", 3: "stopgap"}.get(len(on), " + ".join(on))


OLD, STOPGAP = Switches(), Switches(True, True, True)
EVERY_SWITCH = tuple(Switches(a, b, c) for a in (False, True) for b in (False, True) for c in (False, True))
