"""An investigation as a page shows it without a kernel: the same tables and drawings, and no button that is dead."""

from __future__ import annotations

from markupsafe import Markup

from workbench.analysis.counterfactual import Counterfactual
from workbench.analysis.explain import Explanation
from workbench.reporting import words
from workbench.reporting.widgets import panels, pictures
from workbench.reporting.widgets.bench import Bench, View
from workbench.reporting.widgets.live import LOOK
from workbench.reporting.widgets.markup import shown
from workbench.reporting.widgets.table import table_html
from workbench.types import PointId

# Where the living widget stands in the same output, its still picture is not shown twice.
_HIDDEN = ".jp-OutputArea:has(.wb-live) .jp-OutputArea-child:has(.wb-still) { display: none; }"


def still_html(
    bench: Bench, view: View, target: PointId | None = None, told: Explanation | None = None,
    answers: tuple[Counterfactual, ...] = (),
) -> str:  # fmt: skip
    """One block of HTML with its own style: what was asked, the table, the drawings, and the explanation of the target
    where one was chosen."""
    parts = [_asked(view), table_html(view, str(target) if target is not None else "")]
    if told is not None and target is not None:
        rival = view.result.fused.ids[told.rank - 2] if told.rank and told.rank > 1 else None
        names = bench.titles([target, *([rival] if rival is not None else []), *(m.id for c in answers for m in c.moves)])
        parts += [panels.explanation_html(view, told, bench.chunk(target), names.get(rival, "")), panels.counterfactuals_html(answers, names)]
    parts += [Markup("<h4>Ranks in each list</h4>"), pictures.fusion_ranks(view, target), Markup("<h4>What was read</h4>"), pictures.caps(view, target, told)]
    if view.comparison is not None:
        names = bench.titles([r.id for r in view.comparison.rows])
        parts += [Markup("<h4>Beside {}</h4>").format(shown(view.comparison.right, 60)), panels.comparison_html(view, names, target)]
    style = Markup("<style>{}{}</style>").format(Markup(LOOK), Markup(_HIDDEN))
    return str(Markup('{}<div class="wb wb-still">{}</div>').format(style, Markup("").join(parts)))


def _asked(view: View) -> Markup:
    s = view.session
    turned = ", ".join(f"{words.knob_label(n)} {words.value_text(v)}" for n, v in s.knobs.items())
    filters = ", ".join(f"{n} = {v}" for n, v in s.filters.items())
    said = [f"variant {s.variant}", *([turned] if turned else []), *([filters] if filters else []), *([s.mode] if s.mode != "hybrid" else [])]
    return Markup('<p class="lead">“{}” in {}</p><p class="status">{}</p>').format(shown(s.query, 200), shown(s.collection, 64), shown("; ".join(said), 400))
