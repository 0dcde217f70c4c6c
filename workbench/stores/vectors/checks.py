"""Vectors are checked before an engine sees them: Qdrant stores NaN and infinity without a word."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from threading import Lock
from typing import TYPE_CHECKING, Any

from workbench.errors import NotAvailable
from workbench.stores.catalog.errors import BadVector, StagingError

if TYPE_CHECKING:
    import numpy as np

# Rows looked at together: 4,096 rows of 384 dimensions are 6 MB.
_ROWS = 4096
# NumPy reads a header by `ast`, and CPython 3.11 fails where two threads do that at once: its recursion depth is shared.
_HEADER = Lock()


class VectorError(StagingError):
    """A staged vector that no cosine can be taken of: not finite, zero, or of another length; names the row."""


def read_vectors(path: Path) -> np.ndarray:
    """A staged (n, dim) array, memory-mapped unless it is empty. Raises VectorError for a file that is none."""
    import numpy as np

    try:
        with _HEADER:
            try:
                return np.load(path, mmap_mode="r")
            except ValueError as error:
                if "mmap" not in str(error):  # an array without rows cannot be mapped
                    raise
                return np.load(path)
    except (OSError, ValueError) as error:
        raise VectorError(f"the vectors cannot be read: {error}", where=str(path)) from None


def check_vectors(vectors: Any, dim: int | None = None, *, where: str = "vectors") -> int:
    """The dimension of an (n, dim) array whose every row is finite and not zero; memory-mapped arrays stay so.

    Raises VectorError that names the first bad row, counted from 0.
    """
    import numpy as np

    if vectors.ndim != 2 or (dim is not None and vectors.shape[1] != dim):
        wanted = f"(rows, {dim if dim is not None else 'dimensions'})"
        raise VectorError(f"vectors of shape {vectors.shape} instead of {wanted}", where=where)
    for start in range(0, vectors.shape[0], _ROWS):
        block = np.asarray(vectors[start : start + _ROWS], dtype=np.float32)
        finite = np.isfinite(block).all(axis=1)
        good = finite & block.any(axis=1)
        if not good.all():
            at = int(np.argmin(good))
            fault = "zero" if finite[at] else "NaN" if np.isnan(block[at]).any() else "infinite"
            raise VectorError(
                f"the vector of row {start + at} is {fault}",
                where=where,
                do="Embed that row's text again",
            )
    return vectors.shape[1]


def check_query_vector(vector: Sequence[float] | np.ndarray, dim: int) -> list[float]:
    """The vector as a list of float32 values. Raises BadVector when it is not finite, zero, or not `dim` long."""
    import numpy as np

    row = np.asarray(vector, dtype=np.float32)
    if row.shape != (dim,):
        raise BadVector(
            f"the query's vector has shape {row.shape}, the collection's have {dim} dimensions"
        )
    if not np.isfinite(row).all() or not row.any():
        raise BadVector("the query's vector is not finite or is zero: no cosine can be taken of it")
    return row.tolist()


def dim_of(dims: Mapping[str, int], space: str, where: str) -> int:
    """The dimensions of a space's vectors. Raises NotAvailable where there is no such space."""
    if space not in dims:
        how = "Load the collection with a second model: workbench load … --also MODEL, or load(..., also=MODEL)"
        raise NotAvailable(f"there are no vectors {space!r} here", where=where, do=how)
    return dims[space]
