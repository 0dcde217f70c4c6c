"""`make attack`: run every part, or those named, at their whole size, and write the table into docs/reliability.md."""

from __future__ import annotations

import datetime
import sys
import tempfile
from pathlib import Path

from attack.parts import PARTS

PAGE = Path(__file__).resolve().parents[2] / "docs" / "reliability.md"
NOT_WHOLE = "\nThe whole attack has not been run"
MARK = "| part | tried | failed |"


def main(named: list[str]) -> int:
    rows, failures = [], 0
    for name, part in PARTS.items():
        if named and name not in named:
            continue
        with tempfile.TemporaryDirectory(prefix="attack-") as directory:
            found = part.run(Path(directory), part.whole)
        rows.append(f"| {part.title} | {found.skipped or f'{found.tried:,}'} | {len(found.failed)} |")
        print(rows[-1], flush=True)
        for said in found.failed[:10]:
            print("   ", said[:300], flush=True)
        failures += len(found.failed)
    if not named:
        text = PAGE.read_text(encoding="utf-8").partition(NOT_WHOLE)[0].partition("\nLast run: ")[0]
        table = "\n".join([MARK, "| --- | --- | --- |", *rows])
        PAGE.write_text(f"{text}\nLast run: {datetime.date.today()}\n\n{table}\n", encoding="utf-8")
    return bool(failures)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
