"""The laws of `workbench load` and `workbench collections`: one line a fault, JSON alone where asked, exit codes."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from workbench.cli.load import reader_options
from workbench.errors import BadParameter
from workbench.stores.collections import open_stores, place


def test_a_beir_folder_is_loaded_and_what_was_odd_is_said(home: Path, tiny_source: Path, run) -> None:
    code, out, err = run("load", str(tiny_source), "--as", "tiny")
    said = " ".join(out.split())
    assert code == 0 and "tiny is loaded: 7 chunks of 7 documents, 3 queries, 5 judgements" in said
    assert "warning: 1 empty chunks are not stored: empty" in said
    assert "gone" in said and "embedding" in err
    code, out, _ = run("load", str(tiny_source), "--as", "tiny")
    assert code == 0 and "tiny is unchanged" in out


def test_the_options_reach_the_reader_the_tokenizer_and_the_model(home: Path, tiny_source: Path, run) -> None:
    code, out, _ = run(
        "load", str(tiny_source), "--as", "tiny", "--split", "test", "--chunk-size", "40", "-p", "overlap=7", "--stem", "porter",
        "--stop", "none", "--query-prefix", "query: ", "--quiet", "--json",
    )  # fmt: skip
    manifest = json.loads(out)
    assert code == 0
    assert manifest["settings"] == {"split": "test", "chunk_size": 40, "overlap": 7, "documents": None}
    assert manifest["tokenizer"]["name"] == "words-folded/stop=none/stem=porter"
    assert manifest["model"]["query_prefix"] == "query: " and manifest["counts"]["chunks"] > 7


def test_a_second_model_is_named_beside_the_first(home: Path, tiny_source: Path, multilingual_home: Path, run) -> None:
    code, out, _ = run("load", str(tiny_source), "--as", "tiny", "--also", "multilingual-e5-small-q4", "--quiet")
    assert code == 0 and "model bge-small-en-v1.5-int8 68807e3ff2ab and multilingual-e5-small-q4 50e145864e43;" in " ".join(out.split())
    manifest = json.loads(run("collections", "--json")[1])[0]["manifest"]
    assert manifest["also"]["name"] == "multilingual-e5-small-q4" and manifest["model"]["query_prefix"] == ""
    found = json.loads(run("search", "tiny", "ce zi are întâlnirea", "--variant", "adr_0172_multilingual", "--mode", "semantic", "--json")[1])
    assert found["hits"][0]["chunk"]["entity_id"] == "sedinta"
    assert run("load", str(tiny_source), "--as", "tiny", "--also", "bge-small-en-v1.5-int8")[0] == 2


def test_a_table_is_loaded_by_a_column_mapping(home: Path, tmp_path: Path, run) -> None:
    (tmp_path / "issues.csv").write_text("Key,Summary,Body\nA-1,Crash,It crashed\nA-2,Hang,It hung\n")
    code, _, _ = run("load", str(tmp_path / "issues.csv"), "--as", "issues", "--map", "id=Key", "--map", "title=Summary", "--map", "text=Body")
    assert code == 0
    with open_stores("issues") as stores:
        assert [c.entity_id for c in stores.catalog.chunks(stores.catalog.entity("A-1"))] == ["A-1"]


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (["/nowhere", "--as", "x"], "nothing to read (/nowhere)"),
        (["{tiny}", "--as", "a/b"], "cannot name a collection"),
        (["{tiny}", "--as", "x", "-p", "strict"], "not of the form NAME=VALUE"),
        (["{tiny}", "--as", "x", "-p", "colour=1"], "has no parameter 'colour'"),
        (["{tiny}", "--as", "x", "--chunk-size", "40", "-p", "chunk-size=50"], "given twice"),
        (["{tiny}", "--as", "x", "--split", "dev"], "no judgements for the split 'dev'"),
        (["{tiny}", "--as", "x", "--model", "no/such"], "unknown model 'no/such'"),
        (["{tiny}", "--as", "x", "--model", "./no-such"], "no such model directory"),
        (["{tiny}", "--as", "x", "--stem", "klingon"], "unknown stemmer 'klingon'"),
        (["{tiny}", "--as", "x", "--stop", "mine"], "unknown stop list 'mine'"),
        (["{tiny}", "--as", "x", "--qdrant", "http://127.0.0.1:9"], "does not answer"),
        (["{tiny}", "--as", "x", "--shards", "2"], "one shard and no replicas"),
        (["{tiny}", "--as", "x", "--kind", "nonsense"], "unknown reader 'nonsense'"),
    ],
)
def test_what_the_user_can_mend_is_one_line_and_exit_code_2(
    home: Path, tiny_source: Path, run, arguments: list[str], said: str
) -> None:
    code, out, err = run("load", *(a.format(tiny=tiny_source) for a in arguments), "--quiet")
    assert code == 2 and out == "" and err.startswith("workbench: ") and said in err and "Traceback" not in err
    assert not (home / "collections" / "x").exists()


BAD_CORPORA = {
    "not JSON": ('{"_id": "a", "text": "tea"}\nnot json\n', ":2"),
    "twice": ('{"_id": "a", "text": "tea"}\n{"_id": "a", "text": "coffee"}\n', "'a'"),
    "no text column": ('{"_id": "a", "body": "tea"}\n', "text"),
}


@pytest.mark.parametrize("fault", BAD_CORPORA)
def test_a_bad_corpus_is_named_with_file_and_line_and_the_earlier_collection_stands(
    home: Path, tiny_source: Path, tmp_path: Path, run, fault: str
) -> None:
    run("load", str(tiny_source), "--as", "c", "--quiet")
    before = place("c").current()
    text, said = BAD_CORPORA[fault]
    (tmp_path / "corpus.jsonl").write_text(text)
    code, _, err = run("load", str(tmp_path), "--as", "c", "--quiet", "--kind", "beir")
    assert code == 2 and "corpus.jsonl" in err and said in err
    assert place("c").current() == before and open_stores("c").close() is None


def test_collections_lists_counts_engines_sizes_model_hash_and_what_is_broken(home: Path, tiny_source: Path, run) -> None:
    assert "No collection in" in run("collections")[1]
    assert json.loads(run("collections", "--json")[1]) == []
    manifest = json.loads(run("load", str(tiny_source), "--as", "tiny", "--quiet", "--json")[1])
    (home / "collections" / "half").mkdir()
    listed = json.loads(run("collections", "--json")[1])
    assert [(c["name"], bool(c["broken"])) for c in listed] == [("half", True), ("tiny", False)]
    assert listed[1]["manifest"] == manifest
    code, out, _ = run("collections")
    flat = "".join(out.split())
    assert code == 0 and "unfinished:itsfirstloadhasnotended" in flat and "7chunksof7documents" in flat
    assert manifest["content_hash"][:12] in flat and manifest["model"]["sha256"][:12] in flat and "MB" in flat


def test_readers_lists_every_registered_reader_with_its_parameters(run) -> None:
    from workbench.registry import entries

    known = json.loads(run("readers", "--json")[1])
    assert {r["name"]: set(r["parameters"]) for r in known} == {n: set(e.parameters) for n, e in entries("reader").items()}
    assert all(r["law"] and r["name"] in run("readers")[1] for r in known)


def test_a_servers_password_is_not_shown(home: Path) -> None:
    from dataclasses import replace

    from helpers.made_sources import chunks_of, source_of

    from workbench.cli.load import plain_manifest
    from workbench.stores.load import load

    manifest = load(source_of(chunks_of("tea")), name="c", progress=False)
    with_server = replace(manifest, engines={"qdrant": {"version": "1", "url": "http://me:secret@host:6333"}})
    assert plain_manifest(with_server)["engines"]["qdrant"]["url"] == "http://host:6333"


def test_ctrl_c_ends_with_130_one_line_and_the_earlier_collection(home: Path, tiny_source: Path, tmp_path: Path, run) -> None:
    run("load", str(tiny_source), "--as", "c", "--quiet")
    before = place("c").current()
    lines = (json.dumps({"_id": str(n), "text": f"note {n} " + "harbour " * 300}) for n in range(500))
    (tmp_path / "corpus.jsonl").write_text("\n".join(lines))
    code = "import sys; from workbench.cli import main; sys.argv[0] = 'workbench'; main()"
    process = subprocess.Popen(
        [sys.executable, "-c", code, "load", str(tmp_path), "--as", "c", "--kind", "beir", "--quiet"],
        env=dict(os.environ), stderr=subprocess.PIPE, text=True,
    )  # fmt: skip
    while not list(place("c").staging.glob("*/vectors.partial")) and process.poll() is None:
        pass
    process.send_signal(signal.SIGINT)
    assert process.communicate(timeout=300)[1] == "workbench: interrupted; what was complete stays as it was, and the same command resumes\n"
    assert process.returncode == 130 and place("c").current() == before


def test_options_that_were_not_given_are_not_passed_on() -> None:
    assert reader_options([], split="", chunk_size=None, columns=[]) == {}
    assert reader_options(["chunk-size=3", "x=a=b"], overlap=0) == {"overlap": 0, "chunk_size": "3", "x": "a=b"}
    with pytest.raises(BadParameter):
        reader_options(["=3"])


def test_a_result_says_its_title_once_and_ends_with_a_word(home: Path, tmp_path: Path, run, monkeypatch) -> None:
    monkeypatch.setenv("COLUMNS", "300")
    (tmp_path / "vault").mkdir()
    (tmp_path / "vault" / "a.md").write_text("# Latency budget\n\n" + "The latency is met. " * 20)
    (tmp_path / "vault" / "bare.md").write_text("")
    assert run("load", str(tmp_path / "vault"), "--as", "notes", "--quiet")[0] == 0
    said = [row.rstrip() for row in run("search", "notes", "latency bare")[1].split("\n")]
    assert any(row.endswith("  Latency budget " + "The latency is met. " * 7 + "The latency is met. …") for row in said)
    assert any(row.endswith("  bare") for row in said)
