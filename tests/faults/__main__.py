"""`make faults`: put every fault in, print what noticed it, and end with an error if one was missed.

python -m faults [RECORD …] [--quick] [--only WORDS] [--write docs/faults.md]
"""

from __future__ import annotations

import argparse
import sys
from datetime import UTC, datetime
from pathlib import Path

from faults import MODULES, faults, put_in, quick_faults

HEAD = """# Faults that the claims notice

A claim that cannot fail says nothing. `make faults` puts each of these faults into the code by patching, measures the
claims that must notice it, and fails if one does not. The quick ones run in `make test`. This is the result of the
whole table on {date}: **{noticed} of {all} noticed**. Where
the verdict is the same without and with a fault, other parts of the claim differ.
"""


def main(arguments: list[str]) -> int:
    parser = argparse.ArgumentParser(prog="make faults")
    parser.add_argument(
        "records", nargs="*", metavar="RECORD", help=f"of {', '.join(MODULES)}; default: all"
    )
    parser.add_argument("--quick", action="store_true", help="only those that run with the tests")
    parser.add_argument(
        "--only", default="", metavar="WORDS", help="only those whose name has these words"
    )
    parser.add_argument(
        "--write", type=Path, metavar="FILE", help="write the table as a page of the docs"
    )
    given = parser.parse_args(arguments)
    tables: dict[str, list[str]] = {}
    noticed = total = 0
    for record in given.records or MODULES:
        table = quick_faults(record) if given.quick else faults(record)
        chosen = [f for f in table if given.only in f.name]
        for fault, found in put_in(record, chosen):
            good = all(o.noticed for o in found)
            noticed, total = noticed + good, total + 1
            print(
                "noticed " if good else "MISSED  ",
                fault.name,
                ": ",
                "; ".join(map(str, found)),
                sep="",
                flush=True,
            )
            print(
                *(f"         {o.claim}: {o.note}\n" for o in found if not o.noticed), sep="", end=""
            )
            tables.setdefault(record, []).append(
                f"| {fault.name} | {'; '.join(map(str, found))} |\n"
            )
    print(f"{noticed} of {total} noticed")
    if given.write:
        text = HEAD.format(date=f"{datetime.now(UTC):%-d %B %Y}", noticed=noticed, all=total)
        for record, rows in tables.items():
            text += f"\n## {record}\n\n| fault | claims: without it → with it |\n| --- | --- |\n{''.join(rows)}"
        given.write.write_text(text, encoding="utf-8")
    return noticed != total


sys.exit(main(sys.argv[1:]))
