"""The judging widget: one document of a pool at a time, graded by key. In an export it stands as it was left.

judge("notes", ["how is tea made"], ["adr_0005", "adr_0172"], "ann.qrels")
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import anywidget
import traitlets
from markupsafe import Markup

from workbench.analysis.evaluate.compare import PAGE
from workbench.analysis.evaluate.judging import SCALE, Judging, pools
from workbench.analysis.evaluate.known_items import SEED
from workbench.reporting.html import safe
from workbench.retrieval.search import Collection
from workbench.retrieval.variant import Variant
from workbench.sources.base import JudgedQuery
from workbench.text import visible

_TEMPLATE = Path(__file__).parents[1] / "template"
_CSS = (_TEMPLATE / "judging.css").read_text(encoding="utf-8")
STEPS = {"next": 1, "back": -1}


class JudgingWidget(anywidget.AnyWidget):
    """Shows `judging`; a digit grades, an arrow goes on or back. `html` is all that the page is told: nothing in it
    names a variant, a rank or a score."""

    _esm = _TEMPLATE / "judging.js"
    _css = _CSS
    html = traitlets.Unicode("").tag(sync=True)

    def __init__(self, judging: Judging, **traits: Any) -> None:
        super().__init__(**traits)
        self.judging = judging
        self.on_msg(self._heard)
        self.html = judging_html(judging)

    def _heard(self, _: Any, content: Any, __: Any) -> None:
        if not isinstance(content, dict):
            return
        kind, value = content.get("kind"), content.get("value")
        if (
            kind == "grade"
            and isinstance(value, str)
            and value.isdecimal()
            and int(value) < len(self.judging.scale)
        ):
            self.judging.grade(int(value))
        elif kind == "step" and value in STEPS:
            self.judging.step(STEPS[value])
        self.html = judging_html(self.judging)

    def _repr_mimebundle_(self, **options: Any) -> Any:
        """The widget, and beside it the same as HTML, for a page without a kernel."""
        shown = super()._repr_mimebundle_(**options)
        if shown is None:
            return None
        bundle, *rest = shown if isinstance(shown, tuple) else (shown,)
        still = f'<style>{_CSS}</style><div class="wb-judging">{self.html}</div>'
        bundle = {**bundle, "text/html": still, "text/plain": progress(self.judging)}
        return (bundle, *rest) if rest else bundle


def judge(
    collection: str | Collection,
    queries: Sequence[JudgedQuery | str],
    variants: Sequence[str | Variant],
    path: str | Path,
    *,
    depth: int = PAGE,
    seed: int = SEED,
    scale: Sequence[str] = SCALE,
) -> JudgingWidget:
    """Pool what the variants find, shuffled and without labels, and judge it by key; grades are saved to `path`."""
    return JudgingWidget(
        Judging(pools(collection, queries, variants, depth=depth, seed=seed), path, scale)
    )


def progress(judging: Judging) -> str:
    """How far the judge has come, in one line."""
    return f"{judging.judged} of {judging.total} documents judged, saved in {judging.path.name}"


def judging_html(judging: Judging) -> str:
    """What the judge sees now."""
    share = 100 * judging.judged / judging.total if judging.total else 100
    head = Markup(
        '<div class="top"><span>{}</span><span>{}</span></div><div class="meter"><i style="width:{:.1f}%"></i></div>'
    )
    current = judging.current
    where = ""
    if current is not None:
        pool, item = current
        number = [p.query.id for p in judging.pools].index(pool.query.id) + 1
        where = f"query {number} of {len(judging.pools)}, document {pool.items.index(item) + 1} of {len(pool.items)}"
    top = head.format(safe(progress(judging)), where, share)
    if current is None:
        done = (
            "All documents are judged."
            if judging.judged == judging.total
            else "This is the end; some documents have no grade yet."
        )
        return str(top + Markup('<p class="query">{}</p>').format(done) + _keys(judging, None))
    pool, item = current
    body = Markup('<p class="query">{}</p><div class="doc"><h4>{}</h4><p>{}</p></div>').format(
        safe(pool.query.text) or "(an empty query)", safe(item.title), _text(item.text)
    )
    return str(top + body + _keys(judging, judging.grade_of(item, pool)))


def _text(text: str) -> Markup:
    """A document's excerpt with its lines, every mark as data."""
    return Markup("{}").format(visible(text))


def _keys(judging: Judging, grade: int | None) -> Markup:
    button = Markup(
        '<button type="button" data-kind="{}" data-value="{}" aria-pressed="{}"><kbd>{}</kbd>{}</button>'
    )
    grades = (
        Markup("").join(
            button.format("grade", n, "true" if grade == n else "false", n, safe(word))
            for n, word in enumerate(judging.scale)
        )
        if judging.place < judging.total
        else Markup("")
    )
    steps = button.format("step", "back", "false", "←", "back") + button.format(
        "step", "next", "false", "→", "skip"
    )
    return Markup(
        '<div class="keys">{}{}<span class="hint">click here, then grade by key</span></div>'
    ).format(grades, steps)
