"""The command line's own end: one line for what a user can mend, 130 after Ctrl-C, a traceback for a fault of ours."""

from __future__ import annotations

import os
import signal

import pytest

import workbench.cli
from workbench.cli import main


@pytest.fixture
def ends(monkeypatch, capsys):
    """`ends(command) -> (exit code, stderr)` of a command that is this function."""

    def ended(command):
        monkeypatch.setattr(workbench.cli, "app", command)
        with pytest.raises(SystemExit) as found:
            main()
        return found.value.code, capsys.readouterr().err

    return ended


def test_a_system_error_is_one_line_and_exit_code_2(ends, tmp_path):
    code, err = ends(lambda: (tmp_path / "none" / "x").write_text(""))
    assert (code, err) == (2, f"workbench: no such file or directory ({tmp_path / 'none' / 'x'})\n")


def test_whatever_an_interrupted_import_raises_is_the_interruption(ends):
    def cut_short():
        try:
            os.kill(os.getpid(), signal.SIGINT)
        except KeyboardInterrupt:
            raise ImportError("initialization failed") from None

    before = signal.getsignal(signal.SIGINT)
    code, err = ends(cut_short)
    assert code == 130 and err.startswith("workbench: interrupted") and err.count("\n") == 1
    assert signal.getsignal(signal.SIGINT) is before


def test_a_fault_of_ours_keeps_its_traceback(monkeypatch):
    monkeypatch.setattr(workbench.cli, "app", lambda: 1 / 0)
    with pytest.raises(ZeroDivisionError):
        main()


def test_a_home_that_is_a_file_is_said_by_every_command(run, tmp_path, monkeypatch):
    (tmp_path / "file").write_text("")
    monkeypatch.setenv("WORKBENCH_HOME", str(tmp_path / "file"))
    for command in (("collections",), ("search", "x", "y"), ("load", str(tmp_path), "--as", "x"), ("matching", "list")):
        code, _, err = run(*command)
        assert code == 2 and "the home is a file" in err and err.count("\n") == 1
