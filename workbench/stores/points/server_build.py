"""Store the staged parts in a collection of a Qdrant server or cluster, all or nothing."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from contextlib import suppress
from importlib.metadata import version
from pathlib import Path
from typing import Any

from workbench.errors import NotAvailable
from workbench.remote import connect, shown_url
from workbench.stores.filters.values import (
    ALSO,
    DATETIME_FIELDS,
    KEYWORD_FIELDS,
    MOMENT_FIELDS,
    TERMS_FIELD,
)
from workbench.stores.points.edge_build import Progress
from workbench.stores.points.server import (
    STATE_KEY,
    TIMEOUT_SECONDS,
    ClientPoints,
    ServerRefused,
    server_calls,
)
from workbench.stores.points.sparse import SPARSE, Weights
from workbench.stores.points.staged import Batch, MetadataKeys, check_staging, staged_points

# An index over a whole collection is built within one call.
BUILD_TIMEOUT_SECONDS = 600
# The in-memory mode looks at every payload in Python: 0.3 s a call at this size, and 40 times that at 385,000.
IN_MEMORY_LIMIT = 10_000


def build_client(
    url: str,
    collection: str,
    parts: Sequence[Path | str],
    vectors: Path | str,
    *,
    shard_number: int | None = None,
    replication_factor: int | None = None,
    write_consistency_factor: int | None = None,
    api_key: str | None = None,
    progress: Progress | None = None,
    sparse_terms: Path | None = None,
    also: Path | None = None,
) -> int:
    """Make the collection on the server and store the parts' rows with the rows of `vectors`; returns how many.

    Shards, replicas and write consistency are the collection's; None is the server's own default. The collection
    says of itself that it is incomplete until the end: an interrupt or error deletes it, one that a killed
    process left is replaced, any other of that name is left alone.

    With `sparse_terms` each point also carries its BM25 weights as a sparse vector, and the table of their terms is
    written there; with `also` it carries its row of a second file of vectors, of another model, under the name "also".

    Raises VectorError (with the row), StagingError, ServerSilent, and ServerRefused where the name is taken.
    """
    parts, vectors = [Path(p) for p in parts], Path(vectors)
    rows = check_staging(parts, vectors)
    second = check_staging(parts, also) if also is not None else None
    weights = None
    if sparse_terms is not None:
        weights = Weights.of(parts)
        weights.write(sparse_terms)
    client = connect(url, api_key, BUILD_TIMEOUT_SECONDS)
    where = shown_url(url)
    try:
        with server_calls(where, collection):
            _make_room(client, where, collection)
            layout = {
                "shard_number": shard_number,
                "replication_factor": replication_factor,
                "write_consistency_factor": write_consistency_factor,
            }
            try:
                _store(
                    client, collection, parts, rows, layout, progress, weights=weights, also=second
                )
            except BaseException:
                with suppress(Exception):  # what went wrong first is what is told
                    client.delete_collection(collection)
                raise
    finally:
        client.close()
    return rows.shape[0]


def drop_client(url: str, collection: str, *, api_key: str | None = None) -> None:
    """Delete the collection from the server, where it is there. Raises ServerSilent, ServerRefused."""
    client = connect(url, api_key, TIMEOUT_SECONDS)
    try:
        with server_calls(shown_url(url), collection):
            client.delete_collection(collection)
    finally:
        client.close()


def in_memory(
    parts: Sequence[Path | str], vectors: Path | str, collection: str = "in-memory"
) -> ClientPoints:
    """The parts in qdrant-client's in-memory mode, for comparison only.

    What a term is there cannot be set: runs of letters and numbers in lower case, so that a word with a mark that
    Unicode keeps apart (Devanagari's vowels) falls into pieces. Raises NotAvailable beyond 10,000 points.
    """
    from qdrant_client import QdrantClient

    parts, vectors = [Path(p) for p in parts], Path(vectors)
    rows = check_staging(parts, vectors)
    if rows.shape[0] > IN_MEMORY_LIMIT:
        what = (
            f"the in-memory mode holds at most {IN_MEMORY_LIMIT} points here, not {rows.shape[0]}"
        )
        raise NotAvailable(what, do="Use the embedded engine")
    client = QdrantClient(":memory:")
    _store(client, collection, parts, rows, {}, None, local=True)
    return ClientPoints.in_memory(client, collection)


def _make_room(client: Any, where: str, collection: str) -> None:
    """Remove what a killed build left. Raises ServerRefused where a complete or foreign collection has the name."""
    if not client.collection_exists(collection):
        return
    state = (client.get_collection(collection).config.metadata or {}).get(STATE_KEY)
    if not isinstance(state, dict) or state.get("complete") is not False:
        raise ServerRefused(
            f"a collection {collection!r} is there already", where=where, do="Choose another name"
        )
    client.delete_collection(collection)


def _store(
    client: Any,
    collection: str,
    parts: Sequence[Path],
    rows: Any,
    layout: dict[str, int | None],
    progress: Progress | None,
    *,
    local: bool = False,
    weights: Weights | None = None,
    also: Any = None,
) -> None:
    from qdrant_client import models

    tell = progress or (lambda stage, done, total: None)
    total = rows.shape[0]
    dense = {"": rows, **({ALSO: also} if also is not None else {})}
    spaces = {
        n: models.VectorParams(size=r.shape[1], distance=models.Distance.COSINE)
        for n, r in dense.items()
    }
    client.create_collection(
        collection,
        spaces if len(spaces) > 1 else spaces[""],
        sparse_vectors_config=weights
        and {SPARSE: models.SparseVectorParams(modifier=models.Modifier.IDF)},
        # Exact search: no graph is built.
        hnsw_config=models.HnswConfigDiff(m=0),
        metadata=_state(complete=False),
        **layout,
    )
    keys = MetadataKeys()
    for batch in upsert(client, collection, parts, dense, weights):
        keys.see(batch.payloads)
        tell("points", batch.start + len(batch.ids), total)
    indexes = {TERMS_FIELD: _terms_index(local)} | ({} if local else _indexes(keys))
    for done, (name, params) in enumerate(indexes.items()):
        tell("indexes", done, len(indexes))
        client.create_payload_index(collection, name, params, wait=True)
    held = client.count(collection, exact=True).count
    if held != total:
        raise ServerRefused(
            f"the server holds {held} points instead of {total}", do="Look at the server's log"
        )
    client.update_collection(collection, metadata=_state(complete=True))
    tell("complete", total, total)


def upsert(
    client: Any,
    collection: str,
    parts: Sequence[Path],
    dense: Mapping[str, Any],
    weights: Weights | None = None,
) -> Iterator[Batch]:
    """Store the parts' points with each space's rows of vectors; yields each batch when the server has it."""
    from qdrant_client import models

    for batch in staged_points(parts, dense[""]):
        end = batch.start + len(batch.ids)
        vectors: dict[str, Any] = {n: r[batch.start : end].tolist() for n, r in dense.items()}
        if weights is not None:
            sparse = (weights.vector(p[TERMS_FIELD]) for p in batch.payloads)
            vectors[SPARSE] = [models.SparseVector(indices=i, values=v) for i, v in sparse]
        columns = models.Batch(
            ids=batch.ids,
            vectors=vectors if len(vectors) > 1 else vectors[""],
            payloads=batch.payloads,
        )
        client.upsert(collection, columns, wait=True)
        yield batch


def _state(*, complete: bool) -> dict[str, Any]:
    return {STATE_KEY: {"complete": complete, "client": version("qdrant-client")}}


def _terms_index(local: bool) -> Any:
    from qdrant_client import models

    kind = models.TextIndexType.TEXT
    if local:
        return models.TextIndexParams(type=kind, scoring=True)
    return models.TextIndexParams(
        type=kind,
        tokenizer=models.TokenizerType.WHITESPACE,
        lowercase=False,
        scoring=True,
        enable_hnsw=False,
    )


def _indexes(keys: MetadataKeys) -> dict[str, Any]:
    from qdrant_client import models

    texts, numbers = keys.paths()
    kind = models.KeywordIndexType.KEYWORD
    keyword = models.KeywordIndexParams(type=kind, enable_hnsw=False)
    indexes: dict[str, Any] = dict.fromkeys([*KEYWORD_FIELDS, *DATETIME_FIELDS, *texts], keyword)
    number = models.FloatIndexParams(type=models.FloatIndexType.FLOAT, enable_hnsw=False)
    indexes |= dict.fromkeys(numbers, number)
    indexes["path"] = models.KeywordIndexParams(type=kind, enable_hnsw=False, prefix=True)
    moment = models.DatetimeIndexParams(type=models.DatetimeIndexType.DATETIME, enable_hnsw=False)
    return indexes | dict.fromkeys(MOMENT_FIELDS.values(), moment)
