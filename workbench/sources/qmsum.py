"""QMSum: meeting transcripts, their turns as documents, and queries with the turns that answer them."""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial
from itertools import count
from pathlib import Path
from typing import Any

from workbench.registry import register
from workbench.sources.chunking import OVERLAP
from workbench.sources.documents import check_chunk_size, document_chunks
from workbench.sources.files import existing_folder, read_json
from workbench.sources.judgements import check_queries
from workbench.sources.source import JudgedQuery, Qrel, Source, SourceError
from workbench.sources.tally import Tally
from workbench.types import Chunk, Facets

TRANSCRIPT, QUERIES, SPANS = "meeting_transcripts", "specific_query_list", "relevant_text_span"


@register("reader")
def qmsum(location: str | Path, *, chunk_size: int | None = None, overlap: int = OVERLAP) -> Source:
    """A folder of QMSum meetings: one JSON file each.

    Every turn is a document, every specific query is judged by its turns. Ids are `meeting/turn` and `meeting/qN`, numbered from 0 as the file's spans are; a span includes its end. A
    turn's text is `speaker: words`, its project the meeting. Queries about a whole meeting have no turns and are
    left out. A span beyond the transcript is counted.

    Raises SourceError for a file of another shape.
    """
    check_chunk_size(chunk_size, overlap)
    folder = existing_folder(location, "the folder of meetings")
    paths = sorted(folder.rglob("*.json"), key=lambda path: path.relative_to(folder).as_posix())
    if not paths:
        raise SourceError("no meetings (*.json) here", where=str(folder))
    queries: list[JudgedQuery] = []
    qrels: list[Qrel] = []
    warnings: list[str] = []
    outside = Tally("queries name turns beyond the transcript")
    for path in paths:
        name, meeting = _meeting(folder, path)
        for number, query in enumerate(meeting.get(QUERIES) or ()):
            query_id = f"{name}/q{number}"
            queries.append(JudgedQuery(query_id, str(query.get("query") or ""), {"meeting": name}))
            turns = sorted({turn for span in query.get(SPANS) or () for turn in _turns(span, f"{path}: {query_id}")})
            known = [turn for turn in turns if turn < len(meeting[TRANSCRIPT])]
            if len(known) < len(turns):
                outside.add(query_id)
            qrels += [Qrel(query_id, f"{name}/{turn}", 1) for turn in known]
    outside.into(warnings)
    check_queries(queries, qrels, warnings)
    chunks = partial(_chunks, folder, paths, chunk_size, overlap)
    settings = {"chunk_size": chunk_size, "overlap": overlap}
    return Source("qmsum", str(location), settings, chunks, tuple(queries), tuple(qrels), warnings)


def _chunks(folder: Path, paths: list[Path], chunk_size: int | None, overlap: int) -> Iterator[Chunk]:
    ids = count(1)
    for path in paths:
        name, meeting = _meeting(folder, path)
        for number, turn in enumerate(meeting[TRANSCRIPT]):
            speaker, content = str(turn.get("speaker") or ""), str(turn.get("content") or "")
            text = f"{speaker}: {content}" if speaker and content else content
            facets = Facets(project=name, note_type="turn", path=path.relative_to(folder).as_posix(),
                            metadata={"speaker": speaker} if speaker else {})  # fmt: skip
            yield from document_chunks(ids, f"{name}/{number}", "", text, source=f"{name} turn {number}",
                                       facets=facets, chunk_size=chunk_size, overlap=overlap)  # fmt: skip


def is_qmsum(found: Any) -> bool:
    """Whether a JSON value is one meeting."""
    return isinstance(found, dict) and isinstance(found.get(TRANSCRIPT), list)


def _meeting(folder: Path, path: Path) -> tuple[str, dict[str, Any]]:
    found = read_json(path)
    if not is_qmsum(found) or not all(isinstance(turn, dict) for turn in found[TRANSCRIPT]):
        raise SourceError(f"not a QMSum meeting: no {TRANSCRIPT}", where=str(path))
    return path.relative_to(folder).with_suffix("").as_posix(), found


def _turns(span: Any, where: str) -> range:
    try:
        first, last = (int(turn) for turn in span)
    except (TypeError, ValueError):
        raise SourceError(f"the span {span!r} is not two turns", where=where) from None
    return range(first, last + 1)
