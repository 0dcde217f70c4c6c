"""The four moves as commands. Each topic file adds its own commands; errors a user can mend end with exit code 2."""

from __future__ import annotations

import os
import sys
from importlib import import_module

import typer

INTERRUPTED = 130  # 128 + SIGINT, as a shell has it
TOPICS = ("load", "update", "replica", "capture", "search", "explain", "compare", "tune", "replay", "agreement", "reproduce", "record", "docs", "matching")

app = typer.Typer(
    name="workbench", no_args_is_help=True, add_completion=False, pretty_exceptions_enable=False,
    help="The ranking workbench: load a collection, search it as published, explain a rank, reproduce a record.",
)  # fmt: skip


@app.callback()
def _root() -> None:
    """The ranking workbench. $WORKBENCH_OWN names Python files whose channels and variants every command knows."""
    if os.environ.get("WORKBENCH_OWN"):
        from workbench.retrieval.own import run_own_from_environment

        run_own_from_environment()


for _topic in TOPICS:
    import_module(f"workbench.cli.{_topic}").register(app)


def main() -> None:
    """Run the command line; a WorkbenchError is one line on standard error, never a traceback."""
    from workbench.errors import WorkbenchError
    from workbench.text import visible

    try:
        app()
    except WorkbenchError as error:
        print(f"workbench: {visible(str(error))}", file=sys.stderr)
        sys.exit(2)
    except SystemExit as ended:
        if ended.code == INTERRUPTED:  # typer turns Ctrl-C into this without a word
            print("workbench: interrupted; what was complete stays as it was", file=sys.stderr)
        raise
