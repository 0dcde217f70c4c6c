"""What two loads have in common where their hashes are equal: the content, or all that a load depends on."""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from workbench.sources.source import JudgedQuery, Qrel
from workbench.stores.manifest import FORMAT
from workbench.stores.model import Model
from workbench.text import Tokenizer
from workbench.types import as_plain, content_hash

if TYPE_CHECKING:
    import numpy as np

_ROWS = 4096


def content_of(
    digest: str, queries: Sequence[JudgedQuery], qrels: Sequence[Qrel], tokenizer: Tokenizer, model: Model, vectors: str,
    also: Model | None,
) -> str:  # fmt: skip
    """The content's hash: of the chunks' digest and their vectors' origin (and the
    digest of those that the source handed over), the judgements, tokenizer and models."""
    second = [also.key] if also else []
    return content_hash(digest, as_plain(queries), as_plain(qrels), tokenizer.name, model.key, vectors, *second)


def load_key_of(
    content: str, kind: str, location: str, settings: Mapping[str, Any], model: Model, engine: Mapping[str, Any],
    also: Model | None,
) -> str:  # fmt: skip
    """The hash of all that a load depends on; `settings` as JSON gives them back."""
    second = [also.recorded] if also else []
    return content_hash(FORMAT, content, kind, location, settings, model.recorded, engine, *second)


def digest_of_file(path: Path) -> str:
    """The digest of a staged (n, dim) array."""
    from workbench.stores.vector_check import read_vectors

    rows = read_vectors(path)
    return digest_of_vectors(rows[start : start + _ROWS] for start in range(0, len(rows), _ROWS))


def digest_of_vectors(batches: Iterable[np.ndarray]) -> str:
    """SHA-256 over float32 rows, however they are cut into batches."""
    found = hashlib.sha256()
    for batch in batches:
        found.update(batch.astype("<f4").tobytes())
    return found.hexdigest()
