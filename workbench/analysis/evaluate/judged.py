"""Queries times judgements: which are evaluated, which are skipped and why, and misfits with counts."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Collection as Ids
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property

from workbench.errors import BadParameter, WorkbenchError
from workbench.retrieval.search import Collection
from workbench.sources.base import JudgedQuery, Qrel
from workbench.text import verbatim_key, well_formed
from workbench.types import content_hash

# ---- Ids that look alike: `7` and `007` are two ids, and a set that mixes them is told so,  ----

EXAMPLES_SHOWN = 3

_LEADING_ZEROS = re.compile(r"(?<!\d)0+(?=\d)")


@dataclass(frozen=True, slots=True)
class Padded:
    """Ids that stand on the other side with other padding only: how many, and the first pairs by id."""

    count: int = 0
    examples: tuple[tuple[str, str], ...] = ()

    def sentence(self, left: str, right: str) -> str:
        """One line for a report: `ids that are judged ids but for padding, not matched: 1 (7 / 007)`."""
        pairs = ", ".join(f"{a} / {b}" for a, b in self.examples)
        return f"{left} that are {right} but for padding, not matched: {self.count} ({pairs})"


def padding_key(text: str) -> str:
    """An id without outer white space and leading zeros of its numbers: ` doc007` gives `doc7`."""
    return _LEADING_ZEROS.sub("", text.strip())


def padded(left: Iterable[str], right: Iterable[str]) -> Padded:
    """The ids of `left` that are not in `right`, but would be if padding did not count."""
    left, right = set(left), set(right)
    # An id that both sides hold has found its partner and explains nothing.
    partners = {padding_key(i): i for i in sorted(right - left, reverse=True)}
    pairs = [
        (i, partners[key]) for i in sorted(left - right) if (key := padding_key(i)) in partners
    ]
    return Padded(len(pairs), tuple(pairs[:EXAMPLES_SHOWN]))


# ---- Queries times judgements: which are evaluated, which are skipped and why, and misfits  ----

NOT_JUDGED = "no judgements"
NOTHING_RELEVANT = "no relevant documents"
ONLY_OWN = "no relevant document but their own"

# trec_eval keeps an array as long as the highest grade: 2**31 takes 16 GB (measured), so a typo must not
# pass.
MAX_GRADE = 1000

Run = Mapping[str, Sequence[str]]
"""Query id to document ids, best first; a document stands once in a ranking."""


class ConflictingJudgements(WorkbenchError):
    """One document has two grades for the same query; which one holds cannot be guessed."""


@dataclass(frozen=True)
class Judged:
    """A judged query set. A grade of 1 or more is relevant; 0 and below are judged and not relevant.

    `queries` are those that are evaluated (at least one relevant document), in the order of the query set,
    and `grades` theirs; `skipped` maps every other query to its reason. Relevant documents that do not exist
    stay in the judgements, so that a figure can be compared with published ones, and are counted."""

    queries: tuple[JudgedQuery, ...]
    grades: Mapping[str, Mapping[str, int]]
    skipped: Mapping[str, str] = field(default_factory=dict)
    judgements: int = 0
    negative: int = 0
    repeated: int = 0
    own: int = 0
    orphans: tuple[str, ...] = ()
    unknown: tuple[str, ...] | None = None
    only_unknown: tuple[str, ...] = ()
    padded_queries: Padded = Padded()
    padded_documents: Padded = Padded()
    by_position: bool = False

    @cached_property
    def ids(self) -> tuple[str, ...]:
        """The evaluated query ids, in the order of the query set."""
        return tuple(q.id for q in self.queries)

    def only(self, query_ids: Iterable[str]) -> Judged:
        """The same set with these queries alone, evaluated or skipped; what was counted stays as it was."""
        kept = set(query_ids)
        return replace(
            self,
            queries=tuple(q for q in self.queries if q.id in kept),
            grades={q: docs for q, docs in self.grades.items() if q in kept},
            skipped={q: reason for q, reason in self.skipped.items() if q in kept},
        )

    @property
    def reasons(self) -> dict[str, int]:
        """How many queries were skipped, by reason."""
        return dict(sorted(Counter(self.skipped.values()).items()))

    @property
    def notes(self) -> tuple[str, ...]:
        """One sentence for each thing that does not fit; empty when all fits."""
        said = [f"queries skipped, {reason}: {n}" for reason, n in self.reasons.items()]
        counted = (
            ("judgements with negative grades, taken as judged and not relevant", self.negative),
            ("judgements that stand twice with the same grade, counted once", self.repeated),
            ("judgements of a query's own document, left out", self.own),
            ("judged query ids that are not in the query set, left out", len(self.orphans)),
            ("judged documents that do not exist, kept in the judgements", len(self.unknown or ())),
            ("evaluated queries without a relevant document that exists", len(self.only_unknown)),
        )
        said += [f"{what}: {n}" for what, n in counted if n]
        if self.by_position:
            said.append(
                "all judged query ids lie between 1 and the number of queries: they may count the"
                " queries by position; they were matched by id"
            )
        if self.padded_queries.count:
            said.append(self.padded_queries.sentence("judged query ids", "ids of the query set"))
        if self.padded_documents.count:
            said.append(
                self.padded_documents.sentence("judged documents", "documents of the collection")
            )
        return tuple(said)


def judge(
    queries: Iterable[JudgedQuery] | None,
    qrels: Iterable[Qrel],
    documents: Iterable[str] | None = None,
) -> Judged:
    """Lay judgements over queries: each query is evaluated or skipped with a reason, misfits are counted.

    `queries=None` takes the query ids from the judgements, in their order. `documents` are the ids that
    exist; without them unknown documents are not looked for (`unknown` is None). Raises BadParameter for a
    query id that stands twice, an id that is not text, or a grade above MAX_GRADE; ConflictingJudgements for
    two grades.

    The judgement of a query's own document (`JudgedQuery.own_document`) is left out, as the document is left
    out of the query's ranking."""
    grades, judgements, repeated = _graded(qrels)
    asked = [JudgedQuery(q, "") for q in grades] if queries is None else list(queries)
    _once(asked)
    skipped: dict[str, str] = {}
    own = 0
    for query in asked:
        of_query = grades.get(query.id, {})
        mine = query.own_document in of_query
        relevant = max(of_query.values(), default=0) > 0
        if mine:
            del of_query[query.own_document]
            own += 1
        if query.id not in grades:
            skipped[query.id] = NOT_JUDGED
        elif mine and relevant and max(of_query.values(), default=0) < 1:
            skipped[query.id] = ONLY_OWN
        elif max(of_query.values(), default=0) < 1:
            skipped[query.id] = NOTHING_RELEVANT
    known = {q.id for q in asked}
    orphans = tuple(sorted(set(grades) - known))
    evaluated = tuple(q for q in asked if q.id not in skipped)
    exist = None if documents is None else set(documents)
    named = {d for q in asked for d in grades.get(q.id, ())}
    return Judged(
        queries=evaluated,
        grades={q.id: grades[q.id] for q in evaluated},
        skipped=skipped,
        judgements=judgements,
        negative=sum(g < 0 for docs in grades.values() for g in docs.values()),
        repeated=repeated,
        own=own,
        orphans=orphans,
        unknown=None if exist is None else tuple(sorted(named - exist)),
        only_unknown=()
        if exist is None
        else tuple(
            q.id
            for q in evaluated
            if not any(g > 0 and d in exist for d, g in grades[q.id].items())
        ),
        padded_queries=padded(orphans, known),
        padded_documents=Padded() if exist is None else padded(named, exist),
        by_position=bool(orphans) and _within(grades, len(asked)),
    )


@dataclass(frozen=True, slots=True)
class RunCheck:
    """How a run meets a judged set. `missing` (not in the run) and `empty` (no results) evaluated queries
    count as 0; `extra` queries of the run are not in the set, `skipped` ones are not evaluated: both are left
    out."""

    missing: tuple[str, ...] = ()
    empty: tuple[str, ...] = ()
    extra: tuple[str, ...] = ()
    skipped: tuple[str, ...] = ()
    padded_queries: Padded = Padded()
    padded_documents: Padded = Padded()

    @property
    def notes(self) -> tuple[str, ...]:
        """One sentence for each thing that does not fit; empty when all fits."""
        counted = (
            ("queries that are not in the run, counted as 0", self.missing),
            ("queries without results, counted as 0", self.empty),
            ("queries of the run that are not in the judged set, left out", self.extra),
            ("queries of the run that cannot be evaluated, left out", self.skipped),
        )
        said = [f"{what}: {len(ids)}" for what, ids in counted if ids]
        if self.padded_queries.count:
            said.append(self.padded_queries.sentence("query ids of the run", "judged query ids"))
        if self.padded_documents.count:
            said.append(self.padded_documents.sentence("judged documents", "documents of the run"))
        return tuple(said)


def check_run(run: Run, judged: Judged) -> RunCheck:
    """Lay a run over a judged set and say what is missing, empty, extra or padded. Ids come sorted."""
    evaluated = set(judged.ids)
    extra = set(run) - evaluated - set(judged.skipped)
    found = {d for q in evaluated & set(run) for d in run[q]}
    wanted = {d for docs in judged.grades.values() for d in docs}
    return RunCheck(
        missing=tuple(sorted(evaluated - set(run))),
        empty=tuple(sorted(q for q in evaluated & set(run) if not run[q])),
        extra=tuple(sorted(extra)),
        skipped=tuple(sorted(set(run) & set(judged.skipped))),
        padded_queries=padded(extra, evaluated | set(judged.skipped)),
        padded_documents=padded(wanted, found),
    )


def without_own(run: Run, judged: Judged) -> Run:
    """The run without each query's own document."""
    own = {q.id: q.own_document for q in judged.queries if q.own_document in run.get(q.id, ())}
    return {**run, **{q: tuple(d for d in run[q] if d != own[q]) for q in own}} if own else run


def _graded(qrels: Iterable[Qrel]) -> tuple[dict[str, dict[str, int]], int, int]:
    """Query id to document to grade, the number of judgements read, and how many repeat an earlier one."""
    grades: dict[str, dict[str, int]] = {}
    judgements = 0
    for qrel in qrels:
        judgements += 1
        query, document, grade = qrel.query_id, qrel.entity_id, qrel.grade
        if not (isinstance(query, str) and isinstance(document, str)):
            raise BadParameter(f"the ids of a judgement are text, not {query!r} and {document!r}")
        if isinstance(grade, bool) or not isinstance(grade, int) or grade > MAX_GRADE:
            raise BadParameter(
                f"grade {grade!r} is not a whole number up to {MAX_GRADE}",
                where=f"query {query}, document {document}",
            )
        of_query = grades.setdefault(query, {})
        if of_query.setdefault(document, grade) != grade:
            raise ConflictingJudgements(
                f"document {document!r} has the grades {of_query[document]} and {grade}",
                where=f"query {query!r}",
                do="Keep one of them",
            )
    return grades, judgements, judgements - sum(map(len, grades.values()))


def _once(queries: Sequence[JudgedQuery]) -> None:
    for query_id, times in Counter(q.id for q in queries).items():
        if not isinstance(query_id, str):
            raise BadParameter(f"a query's id is text, not {query_id!r}")
        if times > 1:
            raise BadParameter(
                f"query id {query_id!r} stands {times} times in the query set",
                do="Keep one of them",
            )


def _within(query_ids: Iterable[str], count: int) -> bool:
    return all(q.isascii() and q.isdecimal() and 1 <= int(q) <= count for q in query_ids)


# ---- A query that is itself a document: which one, so that no ranking is evaluated with it, ----

BY_ATTRIBUTE = "the query's attribute self names it"
BY_ID = "the query's id is the document's id"

CHECKED = 200
"""Queries whose text is compared with the document of the same id: a sample, drawn by the hash of the id."""


@dataclass(frozen=True, slots=True)
class OwnDocuments:
    """How many queries have an own document that is left out, by which rule, and what a reader must know of it."""

    queries: int = 0
    rule: str = ""
    notes: tuple[str, ...] = ()


def with_own_documents(
    collection: Collection,
    queries: Sequence[JudgedQuery],
    qrels: Iterable[Qrel] = (),
    documents: Ids[str] = frozenset(),
    *,
    keep: bool = False,
) -> tuple[list[JudgedQuery], OwnDocuments]:
    """The queries, each with its own document as the attribute `self`, and the account of it.

    `documents` are the collection's ids. With `keep` no query has an own document: every ranking is
    evaluated whole. Whatever evaluates a ranking leaves `JudgedQuery.own_document` out of it.
    """
    named = [q for q in queries if q.own_document]
    if keep:
        kept = [replace(q, attributes=_without_self(q)) if q.own_document else q for q in queries]
        note = f"the own documents of {len(named)} queries are kept in their rankings"
        return kept, OwnDocuments(notes=(note,) if named else ())
    if named:
        strangers = sum(q.own_document not in documents for q in named)
        notes = [_left_out(len(named), BY_ATTRIBUTE)]
        if strangers:
            notes.append(f"own documents that are not in the collection: {strangers}")
        return list(queries), OwnDocuments(len(named), BY_ATTRIBUTE, tuple(notes))
    same = [q for q in queries if q.id in documents]
    if not same:
        return list(queries), OwnDocuments()
    if not _texts_agree(collection, same):
        note = (
            f"ids of {len(same)} queries are also ids of documents with other texts: nothing was left out;"
            " an attribute self of a query names its own document"
        )
        return list(queries), OwnDocuments(notes=(note,))
    wanted = _relevant(qrels)
    own = {q.id for q in same if wanted.get(q.id) != {q.id}}
    notes = [_left_out(len(own), BY_ID)] if own else []
    if len(own) < len(same):
        notes.append(
            f"queries whose own document is the only relevant one, which is kept: {len(same) - len(own)}"
        )
    marked = [
        replace(q, attributes={**q.attributes, "self": q.id}) if q.id in own else q for q in queries
    ]
    return marked, OwnDocuments(len(own), BY_ID if own else "", tuple(notes))


def leakage(collection: Collection, judged: Judged) -> tuple[int, int] | None:
    """(queries that stand verbatim in their document, queries) of a known-item set; None for another set.

    A known-item set has one relevant document for each query. Case and white space are ignored.
    """
    targets = {q: [d for d, g in of.items() if g > 0] for q, of in judged.grades.items()}
    if not targets or any(len(of) != 1 for of in targets.values()):
        return None
    texts = texts_of(collection, {of[0] for of in targets.values()})
    keys = {d: [verbatim_key(text) for text in of] for d, of in texts.items()}
    found = 0
    for query in judged.queries:
        key = verbatim_key(query.text)
        found += bool(key) and any(key in text for text in keys.get(targets[query.id][0], ()))
    return found, len(targets)


def texts_of(collection: Collection, documents: Ids[str]) -> dict[str, list[str]]:
    """Titles and texts of the chunks of these documents, by document."""
    rows = collection.stores.catalog.sql(
        "SELECT entity_id, title, text FROM chunk SEMI JOIN (SELECT unnest($ids::VARCHAR[]) AS entity_id)"
        " wanted USING (entity_id) ORDER BY cid",
        {"ids": sorted(d for d in documents if well_formed(d) == d)},
    )
    out: dict[str, list[str]] = {}
    for entity, title, text in rows.rows():
        out.setdefault(entity, []).extend(t for t in (title, text) if t)
    return out


def _texts_agree(collection: Collection, same: Sequence[JudgedQuery]) -> bool:
    """Whether most queries have at least half of their terms in the document of their id.

    Numbered queries over numbered documents share ids by chance; their texts do not agree.
    """
    sample = sorted(same, key=lambda q: content_hash(q.id))[:CHECKED]
    texts = texts_of(collection, {q.id for q in sample})
    terms_of = collection.stores.tokenizer.query_terms
    agree = 0
    for query in sample:
        terms = set(terms_of(query.text))
        held = set(terms_of(" ".join(texts.get(query.id, ()))))
        agree += bool(terms) and len(terms & held) * 2 >= len(terms)
    return agree * 2 > len(sample)


def _relevant(qrels: Iterable[Qrel]) -> dict[str, set[str]]:
    out: dict[str, set[str]] = {}
    for qrel in qrels:
        if qrel.grade > 0:
            out.setdefault(qrel.query_id, set()).add(qrel.entity_id)
    return out


def _without_self(query: JudgedQuery) -> Mapping[str, object]:
    return {k: v for k, v in query.attributes.items() if k != "self"}


def _left_out(count: int, rule: str) -> str:
    noun = "1 query's own document is" if count == 1 else f"own documents of {count:,} queries are"
    return f"{noun} left out of the ranking: {rule}; --keep-own keeps them"
