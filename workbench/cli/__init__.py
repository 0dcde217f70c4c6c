"""The four moves as commands. Each topic file adds its own commands; errors a user can mend end with exit code 2."""

from __future__ import annotations

import os
import signal
import sys
from importlib import import_module

import typer

INTERRUPTED = 130  # 128 + SIGINT, as a shell has it
COMMANDS = (
    "load.register",
    "load.register_update",
    "replica.register",
    "replica.register_capture",
    "search.register",
    "explain.register",
    "evaluate.register",
    "evaluate.register_tune",
    "evaluate.register_replay",
    "evaluate.register_agreement",
    "record.register_reproduce",
    "record.register",
    "docs.register",
    "matching.register",
)
"""What adds commands, in the order of the help."""

app = typer.Typer(
    name="workbench",
    no_args_is_help=True,
    add_completion=False,
    pretty_exceptions_enable=False,
    help="The ranking workbench: load a collection, search it as published, explain a rank, reproduce a record.",
)


@app.callback()
def _root() -> None:
    """The ranking workbench. $WORKBENCH_OWN names Python files whose channels and variants every command knows."""
    if os.environ.get("WORKBENCH_OWN"):
        from workbench.retrieval.custom import run_own_from_environment

        run_own_from_environment()


for _command in COMMANDS:
    _module, _, _register = _command.partition(".")
    getattr(import_module(f"workbench.cli.{_module}"), _register)(app)


def main() -> None:
    """Run the command line; what a user can mend is one line on standard error, never a traceback.

    After Ctrl-C every error is the interruption: an import that is cut short fails by whatever it was about to do.
    """
    from workbench.errors import WorkbenchError
    from workbench.text import visible

    with _Interrupts() as interrupts:
        try:
            app()
        except SystemExit as ended:
            if ended.code == INTERRUPTED or (interrupts.came and ended.code):
                _end_interrupted()
            raise
        except BaseException as error:
            if interrupts.came or isinstance(error, KeyboardInterrupt):
                _end_interrupted()
            if isinstance(error, WorkbenchError):
                said = str(error)
            elif isinstance(error, OSError) and error.strerror:
                said = f"{error.strerror[0].lower()}{error.strerror[1:]}" + (
                    f" ({error.filename})" if error.filename else ""
                )
            else:
                raise
            print(f"workbench: {visible(said)}", file=sys.stderr)
            sys.exit(2)


def _end_interrupted() -> None:
    print(
        "workbench: interrupted; what was complete stays as it was, and the same command resumes",
        file=sys.stderr,
    )
    sys.exit(INTERRUPTED)


class _Interrupts:
    """Remembers that Ctrl-C came, and is otherwise Python's own handling of it."""

    came = False

    def __enter__(self) -> _Interrupts:
        self.before = signal.getsignal(signal.SIGINT)
        if self.before is signal.default_int_handler:
            signal.signal(signal.SIGINT, self._note)
        return self

    def __exit__(self, *_: object) -> None:
        if self.before is signal.default_int_handler:
            signal.signal(signal.SIGINT, self.before)

    def _note(self, number: int, frame: object) -> None:
        self.came = True
        raise KeyboardInterrupt
