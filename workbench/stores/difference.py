"""What differs between documents as they are given and as they stand: the law of an update.

A document is its source type and entity id, and is given whole: its chunks are those that are given, no others. A chunk
that is the same in every field as the standing one of its key stays, with its point id and its vector; any other is a
new chunk.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field

from workbench.errors import BadParameter
from workbench.sources.source import Source, SourceError
from workbench.stores.catalog import Catalog
from workbench.stores.catalog_facts import Facts, all_facts, facts_of
from workbench.stores.staging import NAMED, Checked, encoded, some
from workbench.stores.waiting import ADDED, CHANGED, DELETED, Document, Rows
from workbench.text import DEFAULT, well_formed


class EmptyDocument(SourceError):
    """A changed document without a visible character; names it."""


class UnknownDocument(BadParameter):
    """A document to delete that the collection does not hold; names it."""


Change = tuple[Document, str, str, Rows]
"""A document, what becomes of it (added, changed, deleted), its title, and its chunks."""


@dataclass(slots=True)
class Difference:
    """`unchanged` documents are given as they stand; `not_found` are ids to delete that are not there."""

    changes: list[Change] = field(default_factory=list)
    unchanged: list[Document] = field(default_factory=list)
    not_found: list[str] = field(default_factory=list)
    skipped_empty: int = 0
    warnings: list[str] = field(default_factory=list)


Standing = Mapping[Document, Mapping[int, bytes]]
"""The digest of each chunk that stands, by document and index."""


def difference(
    catalog: Catalog, source: Source | None, delete: Iterable[str], *, whole: bool = False, waiting: Iterable[Document] = ()
) -> Difference:
    """The documents of `source` against the catalog's, and those of the ids in `delete`, of every source type.

    `whole`: the source is all there is; what it lacks is deleted, and a document without text is absent as in a load.
    `waiting` are documents that wait already, which may be deleted before they ever stood.

    Raises EmptyDocument, BadChunk as `stage` does, BadParameter for an id that is both given and deleted, SourceError.
    """
    read, deleted = Checked(DEFAULT), [well_formed(entity) for entity in dict.fromkeys(delete)]
    given = _given(source, read)
    if whole:
        standing = _standing(all_facts(catalog))
    else:
        given = list(given)
        standing = _standing(facts_of(catalog, [facts[1] for facts in given] + deleted))
    wanted, titles = _wanted(given, standing)
    known = sorted({*standing, *waiting})
    if not whole:
        _check_given(read.staged.entities, {entity for _, entity in wanted}, deleted)
    for document in standing if whole else [d for d in known if d[1] in deleted]:
        wanted.setdefault(document, {})
    said = read.finish()
    out = Difference(
        not_found=[entity for entity in deleted if entity not in {e for _, e in known}],
        skipped_empty=said.skipped_empty, warnings=[*source.warnings, *said.warnings] if source else [],
    )  # fmt: skip
    for document, rows in wanted.items():
        held = standing.get(document, {})
        if rows.keys() == held.keys() and not any(rows.values()):
            out.unchanged.append(document)
        else:
            change = DELETED if not rows else CHANGED if held else ADDED
            out.changes.append((document, change, titles.get(document, ""), rows))
    return out


def _check_given(read: set[str], with_text: set[str], deleted: list[str]) -> None:
    """Raises EmptyDocument, BadParameter."""
    empty, both = sorted(read - with_text), [entity for entity in deleted if entity in read]
    if empty:
        raise EmptyDocument(f"documents without text: {some(empty[:NAMED], len(empty))}", do="Delete them: --delete ID")
    if both:
        raise BadParameter(f"given and to be deleted: {some(both[:NAMED], len(both))}", do="Do one, then the other")


def _given(source: Source | None, read: Checked) -> Iterator[Facts]:
    for chunk in source.chunks() if source else ():
        facts = read.facts(chunk)
        if facts is not None:
            yield facts


def _standing(facts: Iterable[Facts]) -> dict[Document, dict[int, bytes]]:
    found: dict[Document, dict[int, bytes]] = {}
    for chunk in facts:
        found.setdefault(_document(chunk), {})[chunk[2]] = _digest(_content(chunk))
    return found


def _wanted(given: Iterable[Facts], standing: Standing) -> tuple[dict[Document, dict[int, str | None]], dict[Document, str]]:
    """Each given document's chunks, those that stand as None, and its title."""
    wanted: dict[Document, dict[int, str | None]] = {}
    titles: dict[Document, str] = {}
    for facts in given:
        document, content = _document(facts), _content(facts)
        same = standing.get(document, {}).get(facts[2]) == _digest(content)
        wanted.setdefault(document, {})[facts[2]] = None if same else content.decode()
        titles.setdefault(document, facts[4])
    return wanted, titles


def _document(facts: Facts) -> Document:
    return facts[3], facts[1]


def _content(facts: Facts) -> bytes:
    """All but the point id."""
    return encoded(facts[1:])


def _digest(content: bytes) -> bytes:
    return hashlib.sha256(content).digest()
