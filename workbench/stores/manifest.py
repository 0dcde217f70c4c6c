"""What a complete collection says of itself: one JSON file, written last, read before anything is opened."""

from __future__ import annotations

import hashlib
import json
import os
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, fields
from pathlib import Path
from typing import TYPE_CHECKING, Any

from workbench.errors import WorkbenchError
from workbench.sources.base import JudgedQuery, Qrel
from workbench.stores.vectors.models import Model
from workbench.text import Tokenizer
from workbench.types import as_plain, content_hash

if TYPE_CHECKING:
    import numpy as np

# ---- What a complete collection says of itself: one JSON file, written last, read before an ----

MANIFEST = "manifest.json"
FORMAT = (
    2  # of the stores' layout: another number is another layout, and the collection is loaded again
)


class BrokenCollection(WorkbenchError):
    """A collection that is there but cannot be read whole; says which part."""


@dataclass(frozen=True, slots=True)
class Manifest:
    """A collection's own account.

    `counts`: chunks, entities, queries, qrels, unknown_qrel_documents (distinct documents that are judged and not
    there), unknown_qrel_queries, skipped_empty (chunks without a visible character, which are not stored),
    truncated (texts longer than the model reads). `also` is the second model, empty without one. `vectors` is
    "embedded" (each chunk's text), "composed" (by the source) or "none". `engines` maps an engine to what is known of it, its
    version first; `sizes` a store to its bytes.
    `updates`, empty after a load: how many there were (`number`), the content of the load (`loaded`) and before the
    last one (`before`), its documents by what became of them, and the highest point id that was ever given.
    `content_hash` covers chunks, queries, judgements, tokenizer and models: equal hash, equal collection.
    `load_key` covers the source's settings and the engines' too: equal key, nothing to load. A generated source has
    the hash of its file in it in place of the content's.
    """

    name: str
    kind: str
    location: str
    settings: Mapping[str, Any]
    counts: Mapping[str, int]
    model: Mapping[str, Any]
    tokenizer: Mapping[str, str]
    vectors: str
    engines: Mapping[str, Mapping[str, Any]]
    sizes: Mapping[str, int]
    content_hash: str
    load_key: str
    generation: str
    created: str
    versions: Mapping[str, str]
    warnings: tuple[str, ...] = ()
    also: Mapping[str, Any] = field(default_factory=dict)
    updates: Mapping[str, Any] = field(default_factory=dict)
    format: int = field(default=FORMAT)

    @property
    def words(self) -> Tokenizer:
        """The tokenizer that made the index, for the query."""
        return Tokenizer(stop=self.tokenizer["stop"], stem=self.tokenizer["stem"])  # type: ignore[arg-type]

    def write(self, directory: Path) -> None:
        """Write it whole or not at all."""
        write_whole(
            directory / MANIFEST, json.dumps(as_plain(self), ensure_ascii=False, indent=1) + "\n"
        )


def read_manifest(directory: Path) -> Manifest:
    """The manifest of a generation. Raises BrokenCollection."""
    path = directory / MANIFEST
    try:
        found = json.loads(path.read_text(encoding="utf-8"))
        # A collection need not say that it has no second model and was never updated.
        wrong = {f.name for f in fields(Manifest)} ^ ({"also", "updates"} | set(found))
    except FileNotFoundError as error:
        raise BrokenCollection("it has no manifest", where=str(path), do="Load it again") from error
    except (OSError, ValueError, TypeError) as error:
        raise BrokenCollection(
            f"its manifest cannot be read: {error}", where=str(path), do="Load it again"
        ) from error
    if wrong or found["format"] != FORMAT:
        raise BrokenCollection(
            "it was loaded by another version", where=str(path), do="Load it again"
        )
    return Manifest(**{**found, "warnings": tuple(found["warnings"])})


def write_whole(path: Path, text: str) -> None:
    """Replace a file's text atomically and durably."""
    partial = path.with_name(path.name + ".partial")
    with partial.open("w", encoding="utf-8") as file:
        file.write(text)
        file.flush()
        os.fsync(file.fileno())
    os.replace(partial, path)


# ---- What two loads have in common where their hashes are equal: the content, or all that a ----

_ROWS = 4096


def content_of(
    digest: str,
    queries: Sequence[JudgedQuery],
    qrels: Sequence[Qrel],
    tokenizer: Tokenizer,
    model: Model,
    vectors: str,
    also: Model | None,
) -> str:
    """The content's hash: of the chunks' digest and their vectors' origin (and the
    digest of those that the source handed over), the judgements, tokenizer and models."""
    second = [also.key] if also else []
    return content_hash(
        digest, as_plain(queries), as_plain(qrels), tokenizer.name, model.key, vectors, *second
    )


def load_key_of(
    content: str,
    kind: str,
    location: str,
    settings: Mapping[str, Any],
    model: Model,
    engine: Mapping[str, Any],
    also: Model | None,
) -> str:
    """The hash of all that a load depends on; `settings` as JSON gives them back."""
    second = [also.recorded] if also else []
    return content_hash(FORMAT, content, kind, location, settings, model.recorded, engine, *second)


def digest_of_file(path: Path) -> str:
    """The digest of a staged (n, dim) array."""
    from workbench.stores.vectors.checks import read_vectors

    rows = read_vectors(path)
    return digest_of_vectors(rows[start : start + _ROWS] for start in range(0, len(rows), _ROWS))


def digest_of_vectors(batches: Iterable[np.ndarray]) -> str:
    """SHA-256 over float32 rows, however they are cut into batches."""
    found = hashlib.sha256()
    for batch in batches:
        found.update(batch.astype("<f4").tobytes())
    return found.hexdigest()
