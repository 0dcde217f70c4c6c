"""The law of the house: imports go down the floors only, and the ground floor is cheap to enter."""

from __future__ import annotations

import ast
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

import workbench

PACKAGE = Path(workbench.__file__).parent

# Rooms from the ground up; the ground floor is every module of the package itself. Rooms of one floor do not import
# each other, but that stores may read sources.
GROUND = tuple(p.stem for p in PACKAGE.glob("*.py") if not p.stem.startswith("__"))
FLOORS = (
    GROUND,
    ("sources",),
    ("stores",),
    ("retrieval", "matching"),
    ("analysis",),
    ("reporting",),
    ("cli",),
    ("__main__",),
)
LEVEL = {room: level for level, rooms in enumerate(FLOORS) for room in rooms}
IMPORT_SECONDS = 0.3  # of the process's own time; the interpreter's start is not counted
HEAVY = {
    "altair", "anywidget", "duckdb", "fastembed", "great_tables", "ipywidgets", "ir_measures", "numpy", "onnxruntime",
    "pandas", "papermill", "polars", "pyarrow", "qdrant_client", "qdrant_edge", "rich", "scipy", "tokenizers", "typer",
    "vl_convert",
}  # fmt: skip


def modules() -> list[Path]:
    return sorted(PACKAGE.rglob("*.py"))


def room_of(path: Path) -> str:
    return path.relative_to(PACKAGE).parts[0].removesuffix(".py")


def imported_rooms(tree: ast.AST, path: Path) -> Iterator[tuple[int, str]]:
    """(line, room) of every import of this package, inside functions too."""
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            names = [alias.name for alias in node.names]
        elif isinstance(node, ast.ImportFrom):
            assert node.level == 0, f"{path}:{node.lineno} is a relative import"
            names = [f"{node.module}.{a.name}" if node.module == "workbench" else node.module or "" for a in node.names]
        else:
            continue
        for name in names:
            first, _, rest = name.partition(".")
            if first == "workbench" and rest:
                yield node.lineno, rest.partition(".")[0]


@pytest.mark.parametrize("path", modules(), ids=lambda p: str(p.relative_to(PACKAGE)))
def test_a_module_imports_no_floor_above_its_own_and_no_room_beside_it(path: Path) -> None:
    room = room_of(path)
    if room == "__init__":
        return
    for line, other in imported_rooms(ast.parse(path.read_text(encoding="utf-8")), path):
        lower = LEVEL[other] < LEVEL[room] or other == room or LEVEL[other] == LEVEL[room] == 0
        assert lower, f"{path}:{line}: {room} imports {other}"


def test_the_package_knows_no_record() -> None:
    for path in modules():
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            names = [a.name for a in node.names] if isinstance(node, ast.Import) else []
            names += [node.module or ""] if isinstance(node, ast.ImportFrom) else []
            assert not [n for n in names if n.partition(".")[0] == "records"], f"{path}:{node.lineno}"


def test_every_room_has_a_floor() -> None:
    assert {room_of(p) for p in modules()} - {"__init__"} <= set(LEVEL)


def test_the_rule_finds_what_breaks_it() -> None:
    tree = ast.parse("import workbench.cli\ndef f():\n    from workbench.stores.collections import x\nfrom workbench import types")
    assert list(imported_rooms(tree, PACKAGE)) == [(1, "cli"), (4, "types"), (3, "stores")]


def import_of(module: str) -> tuple[float, set[str]]:
    """The process time that importing takes, and the heavy packages that came along."""
    code = (
        f"import sys, time; start = time.process_time(); import {module}; spent = time.process_time() - start\n"
        "print(spent, *sorted({m.partition('.')[0] for m in sys.modules}))"
    )
    printed = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout.split()
    return float(printed[0]), HEAVY & set(printed[1:])


def test_importing_the_workbench_is_cheap_and_brings_nothing_heavy() -> None:
    import_of("workbench")  # compiles what is not compiled yet
    spent, heavy = import_of("workbench")
    assert heavy == set() and spent < IMPORT_SECONDS


@pytest.mark.parametrize("module", ["workbench.types", "workbench.text", "workbench.registry", "workbench.settings"])
def test_the_ground_floor_brings_nothing_heavy(module: str) -> None:
    assert import_of(module)[1] == set()


def test_the_command_line_starts_without_engines_models_and_charts() -> None:
    heavy = import_of("workbench.cli")[1]
    assert heavy <= {"typer", "rich"}
