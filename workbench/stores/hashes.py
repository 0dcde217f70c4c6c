"""What two loads have in common where their hashes are equal: the content, or all that a load depends on."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from workbench.sources.source import JudgedQuery, Qrel
from workbench.stores.manifest import FORMAT
from workbench.stores.model import Model
from workbench.text import Tokenizer
from workbench.types import as_plain, content_hash


def content_of(
    digest: str, queries: Sequence[JudgedQuery], qrels: Sequence[Qrel], tokenizer: Tokenizer, model: Model, vectors: str,
    also: Model | None,
) -> str:  # fmt: skip
    """The content's hash: of the chunks' digest and their vectors' origin, the judgements, tokenizer and models."""
    second = [also.key] if also else []
    return content_hash(digest, as_plain(queries), as_plain(qrels), tokenizer.name, model.key, vectors, *second)


def load_key_of(
    content: str, kind: str, location: str, settings: Mapping[str, Any], model: Model, engine: Mapping[str, Any],
    also: Model | None,
) -> str:  # fmt: skip
    """The hash of all that a load depends on; `settings` as JSON gives them back."""
    second = [also.recorded] if also else []
    return content_hash(FORMAT, content, kind, location, settings, model.recorded, engine, *second)
