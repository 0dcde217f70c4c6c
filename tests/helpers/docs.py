"""Run what a page of documentation shows: its commands, its Python, and the output that it claims.

A fence's first word is its language. In ```console each line after `$ ` is a command (a line that ends with a
backslash goes on), what follows it is its output: `…` stands for any text in a line, a line of `…` alone for any
lines. `# exit code N` at the end of a command says that it ends with another code than 0. ```python runs in one
namespace a page; a ```text block marked `output` after it is what it prints. `file=NAME` writes the block to a file
first. `needs=PACKAGE` runs it where that package is installed. `not-run: REASON` says of a block why no test runs it.
"""

from __future__ import annotations

import contextlib
import io
import os
import re
import shlex
import subprocess
import sys
from collections.abc import Iterator
from dataclasses import dataclass, field
from importlib.util import find_spec
from pathlib import Path

from markdown_it import MarkdownIt
from typer.testing import CliRunner

LANGUAGES = ("console", "python", "text", "toml", "json", "jsonl", "markdown", "yaml", "csv")
WIDTH = 120
_EXIT = re.compile(r"\s+# exit code (\d+)$")
_SHELL = set("|>&;<`$")


@dataclass(frozen=True)
class Block:
    """One fence: where its first line stands, its language, the rest of its info string, and its text."""

    where: str
    language: str
    info: str
    text: str

    @property
    def not_run(self) -> str | None:
        """The reason why no test runs it, None where one does."""
        found = re.search(r"not-run:\s*(.*)", self.info)
        return found and found[1]

    @property
    def lacks(self) -> bool:
        """Whether it needs a package that is not installed here."""
        found = re.search(r"needs=(\S+)", self.info)
        return found is not None and find_spec(found[1]) is None

    @property
    def file(self) -> str | None:
        found = re.search(r"file=(\S+)", self.info)
        return found and found[1]

    @property
    def commands(self) -> list[tuple[str, int, str]]:
        """(command, exit code, the output shown) of a console block, in order."""
        found: list[tuple[str, int, list[str]]] = []
        goes_on = False
        for line in self.text.splitlines():
            if goes_on or line.startswith("$ "):
                said = line.removeprefix("$ ") if not goes_on else line.strip()
                goes_on, said = said.endswith("\\"), said.removesuffix("\\").rstrip()
                if line.startswith("$ "):
                    found.append((said, 0, []))
                else:
                    found[-1] = (f"{found[-1][0]} {said}", 0, [])
            else:
                assert found, f"{self.where}: a console block begins with a command"
                found[-1][2].append(line)
        return [self._told(command, shown) for command, _, shown in found]

    @staticmethod
    def _told(command: str, shown: list[str]) -> tuple[str, int, str]:
        code = _EXIT.search(command)
        return (_EXIT.sub("", command), int(code[1]) if code else 0, "\n".join(shown).strip("\n"))


def blocks(page: Path) -> Iterator[Block]:
    """Every fence of a page in its order."""
    for token in MarkdownIt("commonmark").enable("table").parse(page.read_text(encoding="utf-8")):
        if token.type == "fence":
            language, _, info = token.info.strip().partition(" ")
            yield Block(f"{page.name}:{token.map[0] + 1}", language, info, token.content)


def agrees(shown: str, actual: str) -> bool:
    """Whether an output is what a page shows of it."""

    def pattern(line: str) -> str:
        return r"(?:.*\n)*?" if line.strip() == "…" else ".*?".join(map(re.escape, line.rstrip().split("…"))) + "\n"

    text = "".join(line.rstrip() + "\n" for line in actual.strip("\n").splitlines())
    return re.fullmatch("".join(map(pattern, shown.splitlines())), text) is not None


@dataclass
class Reader:
    """Someone who follows a page: one directory, one Python, one output a command."""

    namespace: dict = field(default_factory=dict)

    def follow(self, page: Path) -> None:
        """Do all that a page shows, in its order. The working directory is the reader's."""
        printed = ""
        for block in blocks(page):
            if block.not_run is not None or block.lacks:
                continue
            if block.file:
                Path(block.file).parent.mkdir(parents=True, exist_ok=True)
                Path(block.file).write_text(block.text, encoding="utf-8")
            elif block.language == "console":
                for command, code, shown in block.commands:
                    self._check(block, command, code, shown)
            elif block.language == "python":
                printed = self._python(block)
            elif block.info == "output":
                assert agrees(block.text, printed), f"{block.where}: printed is\n{printed}"

    def _check(self, block: Block, command: str, code: int, shown: str) -> None:
        output, ended = run(command)
        assert ended == code, f"{block.where}: `{command}` ended with {ended}, not {code}:\n{output}"
        assert not shown or agrees(shown, output), f"{block.where}: `{command}` prints\n{output}"

    def _python(self, block: Block) -> str:
        printed = io.StringIO()
        with contextlib.redirect_stdout(printed):
            exec(compile(block.text, block.where, "exec"), self.namespace)
        return printed.getvalue()


def run(command: str) -> tuple[str, int]:
    """Output and exit code. A plain `workbench` command runs in this process, anything else in bash.

    What a command says on standard error is progress, but for an error that ends it.
    """
    if command.startswith("workbench ") and not _SHELL & set(re.sub(r"'[^']*'", "", command)):
        return _in_process(shlex.split(command)[1:])
    paths = os.pathsep.join([str(Path(sys.executable).parent), os.environ["PATH"]])
    done = subprocess.run(
        ["bash", "-euo", "pipefail", "-c", command], env={**os.environ, "PATH": paths}, text=True, capture_output=True,
    )  # fmt: skip
    return done.stdout + (done.stderr if done.returncode else ""), done.returncode


def _in_process(arguments: list[str]) -> tuple[str, int]:
    from workbench.cli import app
    from workbench.errors import WorkbenchError

    found = CliRunner().invoke(app, arguments)
    if isinstance(found.exception, WorkbenchError):
        return f"{found.stdout}workbench: {found.exception}\n", 2
    if found.exception and not isinstance(found.exception, SystemExit):
        raise found.exception
    return found.stdout, found.exit_code
