"""The standard library as a collection: what is read, under which names, and that nothing is run for it."""

from __future__ import annotations

import builtins
import subprocess
import sys
from pathlib import Path

import pytest

from workbench.errors import BadParameter
from workbench.sources.base import SourceError
from workbench.sources.pydoc import (
    CORE,
    SIGNATURE_CHARS,
    Doc,
    exported,
    module_files,
    pydoc,
    syntax_docs,
)
from workbench.types import Chunk, as_plain, content_hash


@pytest.fixture(scope="module")
def core() -> list[Chunk]:
    return list(pydoc()("pydoc").chunks())


def docs(tmp_path: Path, text: str) -> list[Doc]:
    (tmp_path / "m.py").write_text(text)
    return list(syntax_docs(tmp_path / "m.py", "m", "m.py"))


def test_the_core_is_small_enough_to_embed_and_the_whole_is_five_to_twelve_thousand(core: list[Chunk]) -> None:
    assert 2_000 <= len(core) <= 3_000
    whole = list(pydoc(scope="all")("pydoc").chunks())
    assert 5_000 <= len(whole) <= 12_000
    assert {c.entity_id for c in core} <= {c.entity_id for c in whole}


def test_every_core_module_is_in_it(core: list[Chunk]) -> None:
    assert {c.facets.project for c in core} == {*CORE, "topics"}


@pytest.mark.parametrize(
    ("name", "title", "kind", "project"),
    [("json.dumps", "json.dumps(…)", "function", "json"), ("str.join", "str.join(iterable, /)", "method", "builtins"),
     ("math.isclose", "math.isclose(a, b, *, rel_tol=1e-09, abs_tol=0.0)", "function", "math"),
     ("json", "json", "module", "json"), ("os.path.basename", "os.path.basename(p)", "function", "os"),
     ("pathlib.PurePath.name", "pathlib.PurePath.name", "method", "pathlib"),
     ("datetime.date.fromisoformat", "datetime.date.fromisoformat(date_string)", "method", "datetime"),
     ("concurrent.futures.Future.done", "concurrent.futures.Future.done()", "method", "concurrent"),
     ("topic.assert", 'The "assert" statement', "topic", "topics")],
)  # fmt: skip
def test_a_title_is_the_qualified_name_and_the_signature(
    core: list[Chunk], name: str, title: str, kind: str, project: str
) -> None:
    found = next(c for c in core if c.entity_id == name and c.chunk_index == 0)
    assert (found.title, found.facets.note_type, found.facets.project) == (title, kind, project)
    assert found.text.startswith(title + "\n\n")


def test_keys_are_unique_ids_count_from_one_and_a_second_reading_is_the_same(core: list[Chunk]) -> None:
    assert [c.id for c in core] == list(range(1, len(core) + 1))
    assert len({c.key for c in core}) == len(core)
    assert list(pydoc()("pydoc").chunks()) == core


def test_nothing_of_the_machine_stands_in_it(core: list[Chunk]) -> None:
    for chunk in core:
        assert not Path(chunk.facets.path).is_absolute() and sys.prefix not in chunk.text + chunk.source
        assert " at 0x" not in chunk.title and len(chunk.title) <= SIGNATURE_CHARS + 120


def test_another_process_reads_the_same(core: list[Chunk]) -> None:
    code = (
        "from workbench.sources.pydoc import pydoc; from workbench.types import as_plain, content_hash;"
        "print(content_hash([as_plain(c) for c in pydoc()('pydoc').chunks()]))"
    )
    made = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, check=True, env={"PYTHONHASHSEED": "7"}
    )
    assert made.stdout.strip() == content_hash([as_plain(c) for c in core])


def test_what_a_program_puts_into_a_module_is_not_read(core: list[Chunk], monkeypatch: pytest.MonkeyPatch) -> None:
    def display(obj: object) -> None:
        """A kernel's own."""

    monkeypatch.setattr(builtins, "display", display, raising=False)
    for hook in ("displayhook", "excepthook", "unraisablehook"):
        monkeypatch.setattr(sys, hook, display)
    assert list(pydoc()("pydoc").chunks()) == core


def test_source_files_are_parsed_and_never_run(tmp_path: Path) -> None:
    (tmp_path / "loud").mkdir()
    (tmp_path / "loud" / "__init__.py").write_text('"""Loud."""\nraise SystemExit("was run")\n')
    (tmp_path / "loud" / "broken.py").write_text("def f(:\n")
    (tmp_path / "loud" / "fine.py").write_text('def f(a, b=1):\n    """Fine."""\n')
    sys.path.insert(0, str(tmp_path))
    try:
        source = pydoc(packages=("loud",))("pydoc")
        chunks = [c for c in source.chunks() if c.facets.project == "loud"]
    finally:
        sys.path.remove(str(tmp_path))
    assert [(c.entity_id, c.text) for c in chunks] == [
        ("loud", "loud\n\nLoud."), ("loud.fine.f", "loud.fine.f(a, b=1)\n\nFine."),
    ]  # fmt: skip
    assert any("loud/broken.py" in w for w in source.warnings)


def test_an_installed_package_is_added_by_name() -> None:
    chunks = [c for c in pydoc(packages=["ir_measures"])("pydoc").chunks() if c.facets.project == "ir_measures"]
    assert len(chunks) > 10 and all(c.facets.path.startswith("ir_measures/") for c in chunks)


@pytest.mark.parametrize("name", ["no_such_package_here", "os.path", "", "../x", "math"])
def test_a_package_that_cannot_be_read_is_refused(name: str) -> None:
    with pytest.raises(SourceError):
        pydoc(packages=(name,))("pydoc")


def test_an_unknown_scope_is_refused() -> None:
    with pytest.raises(BadParameter, match="core or all"):
        pydoc(scope="most")("pydoc")


def test_public_definitions_are_found_wherever_a_module_makes_them(tmp_path: Path) -> None:
    found = docs(tmp_path, '''
"""Module."""
if True:
    def one(a, /, b, *args, c=1, **more):
        """One."""
else:
    async def two(): "Two."
try:
    class K:
        """K."""
        def __init__(self, x, y=2): pass
        @property
        def p(self): "P."
        @staticmethod
        def s(a): "S."
        @classmethod
        def c(cls, a=1): "C."
        def _private(self): "no"
        def silent(self): pass
        class Inner:
            def m(self): "M."
except ImportError:
    def three(): "Three."
def outer():
    def inner(): "no"
def _private(): "no"
''')  # fmt: skip
    assert [(d.name, d.title, d.kind) for d in found] == [
        ("m", "m", "module"), ("m.one", "m.one(a, /, b, *args, c=1, **more)", "function"), ("m.two", "m.two()", "function"),
        ("m.K", "m.K(x, y=2)", "class"), ("m.K.p", "m.K.p", "method"), ("m.K.s", "m.K.s(a)", "method"),
        ("m.K.c", "m.K.c(a=1)", "method"), ("m.K.Inner.m", "m.K.Inner.m()", "method"), ("m.three", "m.three()", "function"),
    ]  # fmt: skip


def test_defaults_stay_with_their_arguments_when_self_is_cut(tmp_path: Path) -> None:
    (found,) = docs(tmp_path, 'class K:\n    def m(self=None, /, a=1, b=2): "M."\n')
    assert found.title == "m.K.m(a=1, b=2)"


def test_private_modules_and_tests_of_a_package_are_left_out(tmp_path: Path) -> None:
    for name in ("p/__init__.py", "p/a.py", "p/_b.py", "p/test/t.py", "p/sub/__init__.py", "p/sub/__main__.py"):
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).write_text("")
    assert [name for name, _ in module_files(tmp_path, "p")] == ["p", "p.a", "p.sub"]


def test_what_a_package_takes_from_its_private_modules_is_its_own(tmp_path: Path) -> None:
    files = {
        "p/__init__.py": "from ._a import one, K\nfrom p._b import *\nfrom os import path\nfrom .pub import three\n",
        "p/_a.py": '"""Private."""\ndef one(): "One."\ndef other(): "no"\nclass K:\n    "K."\n    def m(self): "M."\n',
        "p/_b.py": 'def two(): "Two."\n', "p/pub.py": 'def three(): "Three."\n',
    }  # fmt: skip
    (tmp_path / "p").mkdir()
    for name, text in files.items():
        (tmp_path / name).write_text(text)
    taken = exported(tmp_path, "p", tmp_path / "p" / "__init__.py")
    assert [(file.name, names) for file, names in taken] == [("_a.py", frozenset({"one", "K"})), ("_b.py", None)]
    found = [doc.name for file, names in taken for doc in syntax_docs(file, "p", file.name, names)]
    assert found == ["p.one", "p.K", "p.K.m", "p.two"]
