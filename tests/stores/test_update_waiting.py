"""What waits to be indexed: it is on disk for good, known by document, found by no search, and taken up by an update."""

from __future__ import annotations

from pathlib import Path

import pytest
from helpers.made_sources import chunks_of, source_of
from helpers.made_updates import FIRST, changed, texts_in

from workbench.errors import BadParameter
from workbench.stores.collections import collections, place
from workbench.stores.journal import (
    FILE,
    Journal,
    Waiting,
    WaitingDocument,
    waiting_documents,
    waiting_in,
)
from workbench.stores.load import load
from workbench.stores.locks import StorageError
from workbench.stores.update import update


def current() -> Path:
    return place("c").current()


def deferred(*args, **fields):
    return update("c", *args, defer=True, progress=False, **fields)


def test_what_is_deferred_waits_by_document_and_neither_store_holds_it_until_it_is_taken_up(updatable: Path) -> None:
    before, generation = texts_in("c"), current()
    done = deferred(source_of([*changed("e0", "the crane works").chunks(), *chunks_of("new", first=7)]), delete=["e1", "e2"])
    assert (done.added, done.changed, done.deleted) == (1, 1, 3)
    assert done.waiting == Waiting(added=1, changed=1, deleted=3) and str(done.waiting) == "5 documents wait to be indexed"
    assert texts_in("c") == before and current() == generation
    assert [c.waiting for c in collections()] == [done.waiting]
    assert {(d.entity_id, d.source_type, d.change) for d in waiting_documents(generation)} == {
        ("e0", "entity", "changed"), ("e7", "entity", "added"), ("e1", "entity", "deleted"), ("e2", "entity", "deleted"),
        ("e2", "observation", "deleted"),
    }  # fmt: skip
    done = update("c", progress=False)
    assert (done.added, done.changed, done.deleted, done.waiting) == (1, 1, 3, Waiting())
    assert sorted(texts_in("c").values()) == sorted([FIRST[4].text, "the crane works", "new"]) and not (current() / FILE).exists()


def test_what_is_put_last_of_a_document_counts_and_what_stands_again_waits_no_more(updatable: Path) -> None:
    deferred(changed("e1", "one", "two"))
    assert deferred(changed("e1", "three")).waiting == Waiting(changed=1)
    assert deferred(source_of(FIRST[2:3])).waiting == Waiting()
    deferred(changed("new", "a document"))
    assert waiting_documents(current(), "new") == [WaitingDocument("entity", "new", "", "added")]
    assert deferred(delete=["new"]).waiting == Waiting(), "it never stood: nothing is left to be done"
    before = current()
    assert update("c", progress=False).changed == 0 and current() == before


def test_changes_take_up_what_waits_and_a_whole_source_takes_its_place(updatable: Path) -> None:
    deferred(changed("e1", "waited"))
    done = update("c", changed("e3", "came"), progress=False)
    assert done.changed == 2 and {"waited", "came"} <= set(texts_in("c").values())
    deferred(changed("e1", "never"), delete=["e3"])
    done = update("c", source=source_of([c for c in FIRST if c.entity_id != "e2"]), progress=False)
    assert (done.changed, done.deleted) == (2, 2) and "never" not in texts_in("c").values()


def test_a_load_replaces_the_collection_with_all_that_waits(updatable: Path) -> None:
    deferred(changed("e1", "waited"))
    load(source_of(chunks_of("tea")), name="c", progress=False)
    assert texts_in("c") == {0: "tea"} and waiting_in(current()) == Waiting()


def test_new_ids_follow_the_order_in_which_documents_were_put(updatable: Path) -> None:
    deferred(changed("b", "b0", "b1"))
    deferred(changed("a", "a0"))
    deferred(changed("b", "b2"))
    update("c", progress=False)
    assert [t for t in texts_in("c").values() if t[0] in "ab" and len(t) == 2] == ["a0", "b2"]


def test_titles_and_hostile_ids_are_found_as_they_are(updatable: Path) -> None:
    hostile = "x'); DROP TABLE document; --\x00\u202e😀"
    deferred(changed(hostile, "text", title="<b>A title</b>"))
    for named in (hostile, "<b>A title</b>"):
        assert [d.entity_id for d in waiting_documents(current(), named)] == [hostile]
    assert waiting_documents(current(), "text") == []
    update("c", progress=False)
    assert "text" in texts_in("c").values()


def test_a_transaction_that_fails_leaves_what_waited(updatable: Path) -> None:
    with pytest.raises(RuntimeError), Journal.open(current()) as journal:
        journal.put(("entity", "x"), "added", "", {0: "[]"})
        raise RuntimeError
    assert not (current() / FILE).exists()
    deferred(changed("e1", "waits"))
    with pytest.raises(RuntimeError), Journal.open(current()) as journal:
        journal.clear()
        raise RuntimeError
    assert waiting_in(current()) == Waiting(changed=1)


def test_a_journal_cut_short_by_a_kill_is_none_and_a_damaged_one_is_said(updatable: Path) -> None:
    (current() / FILE).touch()
    assert waiting_in(current()) == Waiting() and waiting_documents(current()) == []
    assert deferred(changed("e1", "waits")).waiting == Waiting(changed=1)
    (current() / FILE).write_bytes(b"nothing like it" * 999)
    with pytest.raises(StorageError, match="what waits"):
        update("c", progress=False)
    (listed,) = collections()
    assert listed.manifest is None and "what waits" in listed.broken


def test_there_must_be_something_to_defer(updatable: Path) -> None:
    with pytest.raises(BadParameter, match="nothing to defer"):
        deferred()
