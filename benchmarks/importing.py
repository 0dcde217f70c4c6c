"""What it costs to import the workbench, in a fresh interpreter."""

from __future__ import annotations

import statistics
import subprocess
import sys
from collections.abc import Iterator

from benchmarks.harness import Row, at_most, benchmark

RUNS = 11

# A command or a notebook's first cell should answer at once: 0.3 s of the processor's time.
IMPORT_SECONDS = 0.3


@benchmark("import")
def importing() -> Iterator[Row]:
    """CPU seconds of `import workbench`, the interpreter's own start not counted."""
    code = "import time; start = time.process_time(); import workbench; print(time.process_time() - start)"
    command = [sys.executable, "-c", code]
    subprocess.run(command, check=True, capture_output=True)  # compiles what is not compiled yet
    spent = [float(subprocess.run(command, check=True, capture_output=True).stdout) for _ in range(RUNS)]
    yield Row(
        "import/workbench", statistics.median(spent), "s CPU", at_most(IMPORT_SECONDS),
        "a started interpreter", RUNS,
    )  # fmt: skip
