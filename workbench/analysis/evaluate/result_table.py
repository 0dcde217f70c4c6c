"""The table of a comparison: one row a run, as a frame, as text, as HTML and as LaTeX."""

from __future__ import annotations

import html
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from workbench.text import counted, visible

if TYPE_CHECKING:
    import polars as pl

    from workbench.analysis.evaluate.comparison import Comparison

GAP = "  "
COSTS = {
    "p50_ms": ("p50 ms", 1, 1.0),
    "p95_ms": ("p95 ms", 1, 1.0),
    "calls": ("calls", 1, 1.0),
    "payload_bytes": ("KB", 0, 1e3),
}
"""Column of a cost: its heading, digits, and what it is divided by."""

ABSENT = "–"

_LATEX = {
    "\\": r"\textbackslash{}",
    "{": r"\{",
    "}": r"\}",
    "$": r"\$",
    "&": r"\&",
    "#": r"\#",
    "%": r"\%",
    "_": r"\_",
    "^": r"\textasciicircum{}",
    "~": r"\textasciitilde{}",
    "<": r"\textless{}",
    ">": r"\textgreater{}",
    "|": r"\textbar{}",
    '"': r"\textquotedbl{}",
    "−": r"\textminus{}",
    "\n": " ",
    "\t": " ",
}

# Colours come from the page around it, so that the table is right in a light and in a dark notebook.
_CSS = """
.wb-table { overflow-x: auto; color: inherit; font-variant-numeric: tabular-nums; line-height: 1.45; }
.wb-table table { border-collapse: collapse; margin: 0; border: 0; }
.wb-table th, .wb-table td { padding: .3em .8em; border: 0; text-align: right; white-space: nowrap;
  vertical-align: baseline; background: none; color: inherit; }
.wb-table .name { text-align: left; white-space: normal; overflow-wrap: anywhere; min-width: 12em; max-width: 36em; }
.wb-table .letter { text-align: left; opacity: .65; padding-right: 0; }
.wb-table thead th { font-weight: 600; border-bottom: 1px solid currentColor; }
.wb-table tbody tr { background: none; }
.wb-table tbody tr + tr > * { border-top: 1px solid rgba(128, 128, 128, .3); }
.wb-table sup { display: inline-block; text-align: left; font-size: .75em; line-height: 0; margin-left: .15em; opacity: .8; }
.wb-table .cost { opacity: .75; }
.wb-table p { margin: .5em 0 0; font-size: .9em; opacity: .8; max-width: 60em; }
.wb-table p.warning { opacity: 1; margin: 0 0 .5em; border-left: 3px solid #c98a00; padding-left: .6em; }
"""


@dataclass(frozen=True)
class Cell:
    """One cell: its text, the letters of the runs that it is significantly better than, and whether it is the best."""

    text: str
    better_than: str = ""
    best: bool = False

    @property
    def plain(self) -> str:
        return f"{self.text} {self.better_than}".rstrip()


@dataclass(frozen=True)
class ResultTable:
    """Means by run and metric. A letter after a value names a run than which it is significantly better: the paired
    test after Holm's correction and the interval both exclude no difference. `costs` are those of a search, by run."""

    comparison: Comparison
    costs: Mapping[str, Mapping[str, Any]]

    @property
    def letters(self) -> dict[str, str]:
        """Run to its letter, in the order of the runs: a to z, then aa."""
        return {v: _letter(n) for n, v in enumerate(self.comparison.variants)}

    def better_than(self, variant: str, metric: str) -> tuple[str, ...]:
        """The runs than which this one is significantly better by the metric."""
        found = []
        for row in self.comparison.per_pair.filter(metric=metric).to_dicts():
            if variant in (row["a"], row["b"]) and self.comparison.outcome(row) == "detected":
                difference = row["difference"] if variant == row["b"] else -row["difference"]
                if difference > 0:
                    found.append(row["a"] if variant == row["b"] else row["b"])
        return tuple(found)

    def to_frame(self) -> pl.DataFrame:
        """One row a run: letter, variant, each metric's mean and `M better than` (letters), Judged@k, costs."""
        import polars as pl

        rows = []
        for variant, values in self._values().items():
            row: dict[str, Any] = {"letter": self.letters[variant], "variant": variant}
            for metric in self.comparison.metrics:
                row[metric] = values[metric]["value"]
                row[f"{metric} better than"] = self._letters_of(variant, metric)
            lead = values[self.comparison.metrics[0]]
            row[lead["judged_name"]] = lead["judged"]
            if self.costs:
                row |= {key: self.costs.get(variant, {}).get(key) for key in COSTS}
            rows.append(row)
        return pl.DataFrame(rows, infer_schema_length=None)

    def to_text(self, width: int | None = None) -> str:
        """The table as lines; where it is wider than `width`, its costs are a second table."""
        whole = self._lines({**self._quality(), **self._spent()})
        if width is not None and self.costs and max(map(_cells, whole)) > width:
            whole = [*self._lines(self._quality()), *self._lines(self._spent())]
        return "\n".join([*whole, *([self.legend] if self.legend else [])])

    @property
    def legend(self) -> str:
        """What the letters say; "" where there is no pair."""
        c = self.comparison
        if not c.tests:
            return ""
        said = (
            f"paired randomisation test, Holm over {counted(c.tests, 'test')}, {c.confidence:.0%}"
        )
        if not any(self.better_than(v, m) for v in c.variants for m in c.metrics):
            return f"No difference is significant ({said})."
        return f"A letter after a value: significantly better than that run ({said})."

    def to_html(self, warnings: bool = True) -> str:
        """The table as HTML in the colours of the page around it, below the comparison's warnings. Names are data."""
        quality, spent = self._quality(), self._spent()
        head = "".join(f'<th scope="col">{_text(h)}</th>' for h in quality)
        head += "".join(f'<th scope="col" class="cost">{_text(h)}</th>' for h in spent)
        body = []
        for n, (variant, letter) in enumerate(self.letters.items()):
            cells = [
                _html_cell(of[n], max(len(c.better_than) for c in of)) for of in quality.values()
            ]
            cells += [f'<td class="cost">{_text(of[n].text)}</td>' for of in spent.values()]
            body.append(
                f'<tr><td class="letter">{letter}</td><th scope="row" class="name" style="font-weight: inherit">'
                f"{_text(variant)}</th>{''.join(cells)}</tr>"
            )
        said = self.comparison.warnings if warnings else ()
        above = "".join(f'<p class="warning">{_text(w)}</p>' for w in said)
        legend = f"<p>{_text(self._caption())}</p>"
        return (
            f'<div class="wb-table"><style>{_CSS}</style>{above}<table><thead><tr>'
            f'<th class="letter"></th><th scope="col" class="name">variant</th>{head}</tr></thead>'
            f"<tbody>{''.join(body)}</tbody></table>{legend}</div>"
        )

    def to_latex(self) -> str:
        """The table as LaTeX with the rules of booktabs, costs left out; the best of a column is bold."""
        quality = self._quality()
        heads = " & ".join(["", "Variant", *(_latex(h) for h in quality)])
        lines = []
        for n, (variant, letter) in enumerate(self.letters.items()):
            cells = [_latex_cell(of[n]) for of in quality.values()]
            lines.append(" & ".join([letter, _latex(variant), *cells]) + r" \\")
        return "\n".join(
            [
                "% " + self._caption(),
                rf"\begin{{tabular}}{{ll{'r' * len(quality)}}}",
                r"\toprule",
                heads + r" \\",
                r"\midrule",
                *lines,
                r"\bottomrule",
                r"\end{tabular}",
                "",
            ]
        )

    def _caption(self) -> str:
        c = self.comparison
        return f"Means over {counted(c.n, 'query', 'queries')}. {self.legend}".rstrip()

    def _values(self) -> dict[str, dict[str, dict[str, Any]]]:
        """Run to metric to its row of the variant table."""
        out: dict[str, dict[str, dict[str, Any]]] = {v: {} for v in self.comparison.variants}
        for row in self.comparison.per_variant.to_dicts():
            out[row["variant"]][row["metric"]] = row
        return out

    def _letters_of(self, variant: str, metric: str) -> str:
        found = [self.letters[v] for v in self.better_than(variant, metric)]
        return ("" if len(self.letters) <= 26 else " ").join(
            sorted(found, key=lambda x: (len(x), x))
        )

    def _quality(self) -> dict[str, list[Cell]]:
        """Heading to cells in the order of the runs: the metrics, then Judged@k of the first."""
        values = self._values()
        out: dict[str, list[Cell]] = {}
        for metric in self.comparison.metrics:
            shown = {
                v: ABSENT if of[metric]["value"] is None else f"{of[metric]['value']:.4f}"
                for v, of in values.items()
            }
            best = max(shown.values())
            out[metric] = [
                Cell(text, self._letters_of(v, metric), len(values) > 1 and text == best)
                for v, text in shown.items()
            ]
        leads = [of[self.comparison.metrics[0]] for of in values.values()]
        out[leads[0]["judged_name"]] = [
            Cell(ABSENT if r["judged"] is None else f"{r['judged']:.1%}") for r in leads
        ]
        return out

    def _spent(self) -> dict[str, list[Cell]]:
        if not self.costs:
            return {}
        return {
            heading: [
                Cell(_number(self.costs.get(v, {}).get(key), digits, unit))
                for v in self.comparison.variants
            ]
            for key, (heading, digits, unit) in COSTS.items()
        }

    def _lines(self, columns: Mapping[str, Sequence[Cell]]) -> list[str]:
        names = [
            ("", "variant"),
            *((letter, visible(v).replace("\n", " ")) for v, letter in self.letters.items()),
        ]
        cells = [[h, *(c.plain for c in of)] for h, of in columns.items()]
        # Letters stand behind the numbers, so that these stay below each other.
        marks = [[0, *(_cells(c.plain) - _cells(c.text) for c in of)] for of in columns.values()]
        padded = []
        for of, mark in zip(cells, marks, strict=True):
            widest_mark = max(mark)
            texts = [text + " " * (widest_mark - m) for text, m in zip(of, mark, strict=True)]
            widest = max(map(_cells, texts))
            padded.append([" " * (widest - _cells(t)) + t for t in texts])
        first, second = (max(_cells(pair[i]) for pair in names) for i in (0, 1))
        return [
            GAP.join(
                [
                    letter + " " * (first - _cells(letter)),
                    name + " " * (second - _cells(name)),
                    *(of[n] for of in padded),
                ]
            ).rstrip()
            for n, (letter, name) in enumerate(names)
        ]


def _letter(place: int) -> str:
    """a, b … z, aa, ab …"""
    letters = ""
    place += 1
    while place:
        place, rest = divmod(place - 1, 26)
        letters = chr(ord("a") + rest) + letters
    return letters


def _number(value: float | None, digits: int, unit: float) -> str:
    return ABSENT if value is None else f"{value / unit:,.{digits}f}"


def _cells(text: str) -> int:
    """How many columns of a terminal a text takes."""
    from rich.cells import cell_len

    return cell_len(text)


def _text(text: str) -> str:
    return html.escape(visible(text))


def _html_cell(cell: Cell, letters: int) -> str:
    """`letters` is the room behind the number, the same in a whole column, so that numbers stay below each other."""
    value = f"<strong>{_text(cell.text)}</strong>" if cell.best else _text(cell.text)
    room = f'<sup style="min-width: {letters}ch">{cell.better_than}</sup>' if letters else ""
    return f"<td>{value}{room}</td>"


def _latex(text: str) -> str:
    return "".join(_LATEX.get(c, c) for c in visible(text))


def _latex_cell(cell: Cell) -> str:
    value = rf"\textbf{{{_latex(cell.text)}}}" if cell.best else _latex(cell.text)
    return value + (rf"\textsuperscript{{{cell.better_than}}}" if cell.better_than else "")
