"""GitBugs: issue reports with known duplicates; a report asks for those."""

from __future__ import annotations

from pathlib import Path

from workbench.registry import register
from workbench.sources.documents import titled
from workbench.sources.files import existing_folder, missing_columns, named_rows
from workbench.sources.source import JudgedQuery, Qrel, Source, SourceError
from workbench.sources.table import table
from workbench.sources.tally import Tally

REPORTS, PAIRS = "*_bugs.csv", "*_bugs-combined.csv"
ID, DUPLICATE = "Issue id", "Duplicate id"
COLUMNS = {"id": ID, "title": "Summary", "text": "Description", "status": "Status", "note_type": "Resolution"}


@register("reader")
def gitbugs(location: str | Path, *, chunk_size: int | None = None) -> Source:
    """A GitBugs folder: *_bugs.csv, *_bugs-combined.csv.

    Each report is a document. The reports of one row of pairs are each other's duplicates, and each of them is a query (its title and
    description) judged by the others. A query would find itself first: its attribute `self` names the document to
    leave out of its ranking. Rows that name a report not here, or one twice, are counted.

    Raises SourceError where a file or a column is missing.
    """
    folder = existing_folder(location, "the GitBugs folder")
    reports, pairs = _one(folder, REPORTS), _one(folder, PAIRS)
    made = table(columns=COLUMNS, chunk_size=chunk_size)(reports)
    texts = {row[ID].strip(): titled(row["Summary"], row["Description"]) for _, row in named_rows(reports, ",")}
    pairs_found = _duplicates(pairs, texts, made.warnings)
    queries = tuple(JudgedQuery(q, texts[q], {"self": q}) for q in dict.fromkeys(q for q, _ in pairs_found))
    qrels = tuple(Qrel(query, document, 1) for query, document in pairs_found)
    settings = {"chunk_size": chunk_size}
    return Source("gitbugs", str(location), settings, made.chunks, queries, qrels, made.warnings)


def _duplicates(pairs: Path, known: dict[str, str], warnings: list[str]) -> list[tuple[str, str]]:
    """Distinct (query, document) pairs, in the order in which the rows name them."""
    absent, itself = Tally("rows name a report that is not here"), Tally("rows name one report twice")
    found: dict[tuple[str, str], None] = {}
    for number, row in named_rows(pairs, ","):
        missing = [name for name in (ID, DUPLICATE) if name not in row]
        if missing:
            raise missing_columns(missing, list(row), f"{pairs}:1", "Mend the header")
        named = [row[ID].strip(), *(part.strip() for part in row[DUPLICATE].split(","))]
        group = [report for report in dict.fromkeys(named) if report in known]
        if not set(named) <= known.keys():
            absent.add(f"{' '.join(named)} (line {number})")
        elif len(group) < len(named):
            itself.add(f"{' '.join(named)} (line {number})")
        found.update(((a, b), None) for a in group for b in group if a != b)
    absent.into(warnings)
    itself.into(warnings)
    return list(found)


def _one(folder: Path, pattern: str) -> Path:
    found = sorted(folder.glob(pattern))
    if len(found) != 1:
        raise SourceError(f"{len(found)} files {pattern} where one belongs", where=str(folder))
    return found[0]
