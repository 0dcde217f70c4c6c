"""Commands run in the test's own process."""

import sys

import pytest

from workbench.cli import main


@pytest.fixture
def run(monkeypatch, capsys):
    """`run("compare", …) -> (exit code, stdout, stderr)`."""

    def ran(*arguments: str) -> tuple[int, str, str]:
        monkeypatch.setattr(sys, "argv", ["workbench", *arguments])
        code = 0
        try:
            main()
        except SystemExit as ended:
            code = ended.code or 0
        out, err = capsys.readouterr()
        return code, out, err

    return ran
