"""The REST API's JSON as the embedded engine's objects, and back: what the loopback double needs of it."""

from __future__ import annotations

from typing import Any

import qdrant_edge as edge

from workbench.stores.filters.qdrant import edge_filter

TOKENIZERS = {
    "word": edge.TokenizerType.Word, "whitespace": edge.TokenizerType.Whitespace,
    "prefix": edge.TokenizerType.Prefix, "multilingual": edge.TokenizerType.Multilingual,
}  # fmt: skip
INDEXES = {
    "keyword": edge.KeywordIndexParams, "datetime": edge.DatetimeIndexParams, "integer": edge.IntegerIndexParams,
    "float": edge.FloatIndexParams, "bool": edge.BoolIndexParams, "text": edge.TextIndexParams,
}  # fmt: skip


def index_params(schema: str | dict[str, Any]) -> Any:
    """A field's schema: a type's name, or an object with its parameters."""
    given = {"type": schema} if isinstance(schema, str) else dict(schema)
    kind = given.pop("type")
    if "tokenizer" in given:
        given["tokenizer"] = TOKENIZERS[given["tokenizer"]]
    return INDEXES[kind](**given)


def point(form: dict[str, Any]) -> Any:
    held = form["vector"]
    vector = {name: _vector(v) for name, v in held.items()} if isinstance(held, dict) else held
    return edge.Point(form["id"], vector, form.get("payload") or {})


def selector(form: Any) -> Any:
    """`with_payload`: a boolean, a list of fields, or {"include": fields}."""
    if isinstance(form, dict):
        form = form["include"]
    return edge.PayloadSelector.Include(form) if isinstance(form, list) else form


def query(body: dict[str, Any]) -> Any:
    asked, using = body["query"], body.get("using")
    if isinstance(asked, dict) and "text" in asked:
        text = asked["text"]
        wanted = edge.TextQuery(using, text if isinstance(text, str) else text["query"])
    else:
        vector = asked["nearest"] if isinstance(asked, dict) else asked
        wanted = edge.Query.Nearest(_vector(vector), using)
    exact = bool((body.get("params") or {}).get("exact"))
    return edge.QueryRequest(
        limit=body.get("limit", 10), offset=body.get("offset") or 0, query=wanted,
        filter=edge_filter(body.get("filter")), params=edge.SearchParams(exact=exact),
        with_payload=selector(body.get("with_payload", False)), with_vector=body.get("with_vector", False),
    )  # fmt: skip


def record(found: Any) -> dict[str, Any]:
    held = found.vector
    vector = {name: _shown(v) for name, v in held.items()} if isinstance(held, dict) else held
    return {"id": _id(found.id), "payload": found.payload, "vector": vector}


def scored(found: Any) -> dict[str, Any]:
    return {**record(found), "version": found.version, "score": found.score}


def _vector(form: Any) -> Any:
    """A dense vector as it is, a sparse one as the engine's."""
    return edge.SparseVector(form["indices"], form["values"]) if isinstance(form, dict) else form


def _shown(vector: Any) -> Any:
    sparse = isinstance(vector, edge.SparseVector)
    return {"indices": vector.indices, "values": vector.values} if sparse else vector


def _id(point_id: Any) -> int | str:
    return point_id if isinstance(point_id, int) else str(point_id)
