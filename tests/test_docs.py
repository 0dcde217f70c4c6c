"""The docs say what is so: each command and each block of Python in README.md and docs/ is run, with its output."""

from __future__ import annotations

import re
import shutil
import sys
from pathlib import Path

import pytest
from helpers.docs import LANGUAGES, WIDTH, Block, Reader, agrees, blocks
from helpers.small_pydoc import small_pydoc, small_pydoc_home

from workbench import registry

ROOT = Path(__file__).resolve().parents[1]
PAGES = [ROOT / "README.md", *sorted((ROOT / "docs").glob("*.md"))]
GENERATED = ("variants.md", "readers.md", "commands.md")
# Blocks that no test runs, by page; each says why in its own info string.
NOT_RUN = {"README.md": 3, "load.md": 1, "reproduce.md": 2, "search.md": 1}

named = pytest.mark.parametrize("page", PAGES, ids=lambda p: p.name)


@pytest.fixture
def project(tmp_path: Path, tmp_path_factory: pytest.TempPathFactory, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A project with the shipped data and a home that holds a small `pydoc`; it is the working directory."""
    for name in ("data", "notebooks"):
        shutil.copytree(ROOT / name, tmp_path / "project" / name)
    home = shutil.copytree(small_pydoc_home(tmp_path_factory.getbasetemp() / "small-pydoc"), tmp_path / "home")
    monkeypatch.setenv("WORKBENCH_HOME", str(home))
    monkeypatch.setenv("COLUMNS", str(WIDTH))
    monkeypatch.setattr(sys, "path", list(sys.path))
    monkeypatch.chdir(tmp_path / "project")
    return tmp_path / "project"


@named
def test_all_that_a_page_shows_runs_and_prints_what_it_says(page: Path, project: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    kinds = registry._REGISTRY
    for kind, known in kinds.items():  # what a page registers is gone after it
        monkeypatch.setitem(kinds, kind, dict(known))
    with small_pydoc(monkeypatch):
        Reader().follow(page)


@named
def test_a_block_names_its_language_and_one_that_is_not_run_its_reason(page: Path) -> None:
    found = list(blocks(page))
    assert [b.where for b in found if b.language not in LANGUAGES] == []
    assert [b.where for b in found if b.not_run == ""] == []
    assert sum(b.not_run is not None for b in found) == NOT_RUN.get(page.name, 0)


def test_the_pages_made_from_registrations_are_not_stale() -> None:
    """In a process of its own, since other tests register variants."""
    import subprocess

    done = subprocess.run(
        [sys.executable, "-c", "from workbench.cli import main; main()", "docs", "--check", "--in", str(ROOT / "docs")],
        capture_output=True, text=True,
    )  # fmt: skip
    assert done.returncode == 0, f"{done.stdout}{done.stderr}Run `workbench docs`"


def test_every_command_says_what_it_does() -> None:
    import typer

    from workbench.cli import app
    from workbench.cli.docs import commands

    found = dict(commands(typer.main.get_command(app)))
    assert len(found) > 10 and [name for name, command in found.items() if not (command.help or "").strip()] == []


def anchors(page: Path) -> set[str]:
    """The anchors that a page's headings make, as GitHub makes them."""
    headings = re.findall(r"^#+ (.+)$", re.sub(r"```.*?```", "", page.read_text(encoding="utf-8"), flags=re.DOTALL), re.MULTILINE)
    return {re.sub(r"[^\w\- ]", "", h.lower()).replace(" ", "-") for h in headings}


@named
def test_every_link_leads_somewhere(page: Path) -> None:
    text = re.sub(r"```.*?```|`[^`\n]*`", "", page.read_text(encoding="utf-8"), flags=re.DOTALL)
    for target in re.findall(r"\]\(([^)\s]+)\)", text):
        if "://" in target:
            continue
        path, _, anchor = target.partition("#")
        to = (page.parent / path).resolve() if path else page
        assert to.exists(), f"{page.name}: {target}"
        assert not anchor or anchor in anchors(to), f"{page.name}: {target}"


@pytest.mark.parametrize(
    ("shown", "actual", "same"),
    [
        ("a b", "a b\n", True), ("a b", "a  b\n", False), ("a …", "a b c\n", True), ("… c", "a b c  \n", True), ("a … d", "a b c\n", False),
        ("a\n…\nd", "a\nb\nc\nd\n", True), ("a\n…\nd", "a\nd\n", True), ("…\nd", "a\nc\n", False), ("a", "a\nb\n", False),
        ("a.c", "abc\n", False), ("", "", True),
    ],
)  # fmt: skip
def test_shown_output_is_compared_line_by_line(shown: str, actual: str, same: bool) -> None:
    assert agrees(shown, actual) is same


def test_a_command_may_go_on_and_may_say_its_exit_code() -> None:
    block = Block("x", "console", "", "$ workbench a \\\n    --b 'c d'  # exit code 1\nout\n\nput\n$ ls\n")
    assert block.commands == [("workbench a --b 'c d'", 1, "out\n\nput"), ("ls", 0, "")]


def test_a_page_that_shows_what_is_not_so_fails(project: Path) -> None:
    page = project / "wrong.md"
    for wrong in ("```console\n$ workbench collections --jsn\n```", "```console\n$ echo one\ntwo\n```", "```python\n1 / 0\n```",
                  "```python\nprint(1)\n```\n\n```text output\n2\n```"):  # fmt: skip
        page.write_text(wrong, encoding="utf-8")
        with pytest.raises((AssertionError, ZeroDivisionError)):
            Reader().follow(page)
