"""A library's file: without FTS5, of an older or newer version, and what stays in it after a new redaction rule."""

from __future__ import annotations

import json
import sqlite3
from pathlib import Path

import pytest
from helpers.matching import WordEncoder, said

from workbench.errors import BadParameter, NotAvailable
from workbench.matching import library as library_module
from workbench.matching import schema
from workbench.matching.call_log import read_log
from workbench.matching.cascade import ask
from workbench.matching.library import ADR_0003, Library, MatchingSettings, open_library
from workbench.matching.queue import candidates, reject
from workbench.matching.request import plain
from workbench.matching.schema import LibraryError


class NoFts5(sqlite3.Connection):
    """A connection of a SQLite that was built without FTS5: every use of such a table fails as it does there."""

    def execute(self, sql, *rest):
        self._refuse(sql)
        return super().execute(sql, *rest)

    def executemany(self, sql, *rest):
        self._refuse(sql)
        return super().executemany(sql, *rest)

    def _refuse(self, sql: str) -> None:
        if "fts5" in sql.lower() or "entry_words" in sql:
            there = super().execute("SELECT 1 FROM sqlite_schema WHERE name = 'entry_words'").fetchone()
            if "fts5" in sql.lower() or there:
                raise sqlite3.OperationalError("no such module: fts5")


@pytest.fixture
def without_fts5(monkeypatch):
    whole = sqlite3.connect
    monkeypatch.setattr(schema.sqlite3, "connect", lambda *a, **k: whole(*a, **{**k, "factory": NoFts5}))
    yield monkeypatch
    monkeypatch.undo()


def use(library: Library, text: str = "tell Ann that the boat is late") -> None:
    library.record(plain(text), said("told"))
    assert ask(library, plain(text)).tier == "exact"
    assert ask(library, plain(text.upper())).tier == "lexical"
    assert ask(library, plain(f"{text} today")).candidates


@pytest.mark.parametrize("index", ["fts5", "scan"])
def test_a_library_works_without_fts5(tmp_path: Path, without_fts5, index):
    with Library(tmp_path / "l.sqlite", settings=MatchingSettings(index=index)) as library:
        with pytest.raises(sqlite3.OperationalError, match="no such module"):
            library.db.execute("CREATE VIRTUAL TABLE x USING fts5(y)")
        use(library)
        library.add_rule("redaction", {"name": "boat", "pattern": "boat", "replace": "<boat>"})
        assert ask(library, plain("Tell Ann that the boat is late!")).tier == "lexical"


def test_a_file_goes_from_one_with_fts5_to_one_without_and_back(tmp_path: Path, without_fts5):
    without_fts5.undo()
    path = tmp_path / "l.sqlite"
    with Library(path) as library:
        use(library)
    whole = sqlite3.connect
    without_fts5.setattr(schema.sqlite3, "connect", lambda *a, **k: whole(*a, **{**k, "factory": NoFts5}))
    with Library(path) as library:
        use(library, "feed the cat of the neighbour at nine")
    without_fts5.undo()
    with Library(path) as library:
        held = library.db.execute("SELECT count(*) FROM entry_words").fetchone()[0]
        assert held == library.counts()["entries"] == 2
        assert ask(library, plain("Feed the cat of the neighbour at nine!")).tier == "lexical"


def as_version_1(path: Path) -> None:
    """What this workbench wrote before `places`, with the redaction and the gates of that time."""
    with sqlite3.connect(path) as db:
        db.execute("ALTER TABLE fingerprints DROP COLUMN places")
        db.execute("UPDATE settings SET value = 'older' WHERE name = 'normal'")
        old = MatchingSettings(gates=("same_order", "same_marks")).as_json()
        db.execute("UPDATE settings SET value = ? WHERE name = 'settings'", (old,))
        db.execute("UPDATE answers SET body = ?", (json.dumps({"accessToken": ["opensesame"]}),))
        db.execute("PRAGMA user_version=1")
    db.close()


def test_an_older_library_is_taken_over_and_cleaned(tmp_path: Path):
    path = tmp_path / "l.sqlite"
    with Library(path) as library:
        use(library)
    as_version_1(path)
    with Library(path) as library:
        assert library.db.execute("PRAGMA user_version").fetchone()[0] == schema.VERSION == 2
        assert library.settings == MatchingSettings()
        assert "opensesame" not in library.answer(1).body
        assert ask(library, plain("Tell Ann that the boat is late")).tier == "lexical"


@pytest.mark.parametrize(("version", "words"), [(schema.VERSION + 1, "newer than"), (0, "not a matching library")])
def test_another_file_is_refused_by_its_version(tmp_path: Path, version, words):
    with sqlite3.connect(tmp_path / "l.sqlite") as db:
        db.execute("CREATE TABLE x(y)")
        db.execute(f"PRAGMA user_version={version}")
    db.close()
    with pytest.raises(LibraryError, match=words):
        Library(tmp_path / "l.sqlite")


def test_a_new_redaction_rule_leaves_nothing_in_the_file(tmp_path: Path):
    path = tmp_path / "l.sqlite"
    with Library(path) as library:
        library.record_many((plain(f"the codename BLUEBIRD of {i}"), said("BLUEBIRD"), "", i) for i in range(40))
        library.add_rule("redaction", {"name": "codename", "pattern": "(?i)BLUEBIRD", "replace": "<codename>"})
    assert b"bluebird" not in b"".join(p.read_bytes().lower() for p in tmp_path.iterdir()).replace(b"(?i)bluebird", b"")


def test_a_call_whose_candidates_were_all_rejected_is_a_miss():
    with Library(settings=ADR_0003) as library:
        for i in range(5):
            library.record(plain(f"what is the weather in the city of number{i} today"), said(str(i)))
        asked = plain("what is the weather in the city of number9 today")
        first = ask(library, asked)
        assert len(first.candidates) == 3
        assert not ask(library, asked).candidates
        library.log.flush()
        assert read_log(library.db, 1)[0].outcome == "review"
        for waiting in first.candidates:
            reject(library, waiting, "ann")
        again = ask(library, asked)
        assert not again.candidates and not candidates(library)
        library.log.flush()
        (row,) = read_log(library.db, 1)
        assert row.outcome == "miss" and "rejected before: 3 of its 3 candidates" in row.steps[-1][-1]


def test_a_failing_vector_worker_is_logged_once(tmp_path: Path):
    model = WordEncoder()
    model.error = RuntimeError("no memory for sk-proj-a1b2c3d4e5f6g7h8")
    settings = MatchingSettings(embeddings=True)
    with Library(tmp_path / "l.sqlite", settings=settings, encoder=model) as library:
        for text in ("one", "two"):
            library.record(plain(text), said("x"))
            assert not library.wait_for_vectors(10)
        rows = [r for r in read_log(library.db) if r.outcome == "failed"]
        assert [(r.tier, r.steps[0][-1]) for r in rows] == [
            ("embedding", "the vector worker failed: RuntimeError: no memory for <secret>")
        ]


def test_the_machines_switch_runs_embeddings_and_the_library_lets_them_serve(monkeypatch):
    monkeypatch.setenv("SEMULA_EMBEDDINGS", "on")
    text = "how far is it from Rome to Paris by train"
    with Library(encoder=WordEncoder()) as library:
        library.record(plain(text), said("1,400 km"))
        library.wait_for_vectors()
        near = ask(library, plain(f"{text} today"))
        assert near.steps[-1].tier == "embedding" and not near.served
        library.change(embedding_serve_threshold=0.5, bm25_review_threshold=0.9)
        assert not library.settings.embeddings and library.settings.review == 0.9
        assert ask(library, plain(f"{text} today")).tier == "embedding"
        library.change(embedding_serve_threshold="off", bm25_serve_threshold="off")
        assert library.settings.embedding_serve is None and library.settings.serve is None


def test_the_machines_switch_off_keeps_embeddings_off(monkeypatch):
    monkeypatch.setenv("SEMULA_EMBEDDINGS", "off")
    with Library(settings=MatchingSettings(embeddings=True), encoder=WordEncoder()) as library:
        assert library.encoder is None and len(ask(library, plain("x")).steps) == 4


def test_the_machines_switch_without_the_model_refuses_to_open(monkeypatch, home):
    import workbench.stores.vectors.models as model_file

    fetches = []

    def missing(*_: object, fetch: bool = False, **__: object):
        fetches.append(fetch)
        raise NotAvailable("no model here")

    monkeypatch.setattr(model_file, "find_model", missing)
    monkeypatch.setenv("WORKBENCH_FETCH", "true")
    monkeypatch.setenv("SEMULA_EMBEDDINGS", "on")
    for offline in ("off", "on"):
        monkeypatch.setenv("SEMULA_EMBEDDINGS_OFFLINE", offline)
        with pytest.raises(NotAvailable, match="no model here"):
            open_library("demo", create=True)
    assert fetches == [True, False]
    monkeypatch.setenv("SEMULA_EMBEDDINGS", "maybe")
    with pytest.raises(BadParameter, match="on or off"):
        open_library("demo", create=True)


def test_a_library_is_not_named_like_a_key():
    with pytest.raises(LibraryError, match="like a key") as caught:
        library_module.library_path("sk-proj-a1b2c3d4e5f6g7h8")
    assert "sk-proj" not in str(caught.value)
