"""The investigation: ask, turn knobs, click a row to explain it, pin a document and watch its rank."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from itertools import groupby
from pathlib import Path
from typing import Any

import ipywidgets as w
import traitlets

from workbench.analysis.explain.counterfactual import Counterfactual
from workbench.analysis.explain.explain import Explanation
from workbench.analysis.explain.targets import resolve
from workbench.errors import BadParameter, WorkbenchError
from workbench.reporting import words
from workbench.reporting.widgets import drawings as pictures
from workbench.reporting.widgets import panels
from workbench.reporting.widgets.bench import Bench, View
from workbench.reporting.widgets.form import Form, control, grouped
from workbench.reporting.widgets.live import Live, Shown
from workbench.reporting.widgets.markup import TITLE_CHARACTERS, shown
from workbench.reporting.widgets.panels import still_html, table_html
from workbench.reporting.widgets.session import Session, filters_of
from workbench.retrieval.search import Collection
from workbench.types import PointId

# ---- The investigation: ask, turn knobs, click a row to explain it, pin a document and watc ----

TRAIL = 12
"""Ranks of the pinned document that are remembered for display."""

LINE = 300
"""Characters of a line below the pinned document."""

_LOOKING = ("…", "…")
_NOTHING_SELECTED = '<p class="muted">Click a row to see why it stands there, or pin a document to see why it does not.</p>'
_TABS = ("Explanation", "Ranks by list", "What was read", "Compare", "What changed", "Code")


class Investigation(Shown):
    """A form over a `Bench`. `session` is the whole state and may be set; `view` is the last look, `selected` the
    explained row's point id, `trail` the pinned document's last ranks, oldest first."""

    session = traitlets.Instance(Session)
    view = traitlets.Instance(View, allow_none=True)
    selected = traitlets.Any(None, allow_none=True)
    trail = traitlets.Tuple()
    problem = traitlets.Unicode("")
    _ready = False

    def __init__(self, bench: Bench, session: Session, **options: Any) -> None:
        self.bench = bench
        self._told: tuple[Explanation, tuple[Counterfactual, ...]] | None = None
        self._form = Form(session, self._asked, self._pinned_by_name, self._saved)
        self._knobs, self._knob_names = w.VBox(), ()
        self._watch, self._status = w.HTML(), w.HTML()
        self._table = Live()
        self._table.answer(self._clicked)
        self._panels = {
            name: Live() if name == "Explanation" else w.HTML() for name in _TABS if name != "Code"
        }
        self._panels["Explanation"].answer(self._clicked)
        self._code = w.Textarea(
            disabled=True, layout={"width": "auto", "height": "240px"}
        )  # 100 % and its margin would cut a border
        self._tabs = w.Tab(
            [*self._panels.values(), w.VBox([self._code, *self._form.incident])], titles=_TABS
        )
        for part in (*self._panels.values(), self._watch, self._status):
            part.add_class("wb")
        super().__init__(
            [*self._form.rows, self._knobs, self._status, self._watch, self._table, self._tabs],
            session=session,
            **options,
        )
        self.add_class("wb-investigation")
        self._ready = True
        self._look()

    # -- what a person does ------------------------------------------------------------------------------------
    def ask(self, **changes: Any) -> View | None:
        """Change the session's fields and look again, as the form does."""
        self.session = self.session.replace(**changes)
        return self.view

    def turn(self, knob: str, value: Any) -> View | None:
        """Turn one knob; back to where the variant has it takes it out of the session again."""
        self.session = self.session.turned(knob, value)
        return self.view

    def explain(self, target: PointId) -> None:
        """Select a row, on the page or not, and explain it."""
        self.selected = target

    def pin(self, target: PointId | None) -> None:
        """Watch a document from now on, or none."""
        if target != self.session.pinned:
            self.trail = ()
        self.ask(pinned=target)

    def write_incident(self, path: str | Path) -> Path:
        """Write this query and its pinned or selected document down as an incident file, from which a replica is made.

        Raises BadParameter where neither is there, and for a query within filters, which an incident has not.
        """
        return write_incident(self.bench.collection, self.session, self.selected, Path(path))

    # -- what follows ------------------------------------------------------------------------------------------
    @traitlets.observe("session")
    def _session_changed(self, change: Mapping[str, Any]) -> None:
        if self._ready:
            self._look()

    @traitlets.observe("selected")
    def _selected_changed(self, change: Mapping[str, Any]) -> None:
        if self.view is not None:
            self._tabs.selected_index = _TABS.index("Explanation")
            self._guarded(lambda: (self._draw_look(), self._explain()))

    def _look(self) -> None:
        self._guarded(self._answer)

    def _answer(self) -> None:
        """Look again and draw what answers at once; the explanation follows when the knobs have settled."""
        self._show_knobs()
        view = self.bench.look(self.session, self.view)
        self._form.show(self.session)
        if self.session.pinned is not None:
            self.trail = (*self.trail, view.pinned.rank)[-TRAIL:]
        self.view, self._told = view, None
        self._show_status(view)
        self._watch.value = self._watch_html(view, _LOOKING)
        self._code.value = self.session.code()
        self._draw_look()
        self.settled("explain", lambda: self._guarded(self._explain))

    def _draw_look(self) -> None:
        view, target = self.view, self.selected
        self._table.html = str(table_html(view, "" if target is None else str(target), alive=True))
        self._panels["Ranks by list"].value = str(pictures.fusion_ranks(view, target))
        watched = target if target is not None else self.session.pinned
        compared = (
            self.bench.titles([r.id for r in view.comparison.rows]) if view.comparison else {}
        )
        self._panels["Compare"].value = str(panels.comparison_html(view, compared, watched))
        pages = [
            *view.result.fused.ids[: view.session.first],
            *(view.before.result.fused.ids[: view.before.session.first] if view.before else ()),
        ]
        self._panels["What changed"].value = str(
            panels.changes_html(view, self.bench.titles(pages))
        )

    def _explain(self) -> None:
        """Explain the selected row, what was read with the watched document in it, and the pinned one in two lines."""
        view, target = self.view, self.selected
        if target is None:
            self._panels["Explanation"].html = _NOTHING_SELECTED
        else:
            told, answers = self.bench.explained(view, target), self.bench.answers(view, target)
            self._told = told, answers
            self._panels["Explanation"].html = self._explained_html(view, told, answers)
        pinned = self.session.pinned
        told = (
            self._told[0]
            if self._told
            else None
            if pinned is None
            else self.bench.explained(view, pinned)
        )
        self._panels["What was read"].value = str(
            pictures.caps(view, target if target is not None else pinned, told)
        )
        if pinned is not None:
            known = (
                self._told
                if self._told and target == pinned
                else (self.bench.explained(view, pinned), self.bench.answers(view, pinned))
            )
            self._watch.value = self._watch_html(view, _in_two_lines(*known))
        self.redraw()

    def _explained_html(
        self, view: View, told: Explanation, answers: tuple[Counterfactual, ...]
    ) -> str:
        rival = view.result.fused.ids[told.rank - 2] if told.rank and told.rank > 1 else None
        names = self.bench.titles(
            [
                told.target,
                *([rival] if rival is not None else []),
                *(m.id for c in answers for m in c.moves),
            ]
        )
        said = panels.explanation_html(
            view, told, self.bench.chunk(told.target), names.get(rival, "")
        )
        return str(said + panels.counterfactuals_html(answers, names, alive=True))

    def still(self) -> str:
        """The investigation as HTML without a kernel, as exported pages show it."""
        if self.view is None:
            return f'<div class="wb wb-still"><p class="error">{shown(self.problem, 400)}</p></div>'
        told, answers = self._told or (None, ())
        return still_html(self.bench, self.view, self.selected, told, answers)

    # -- the form's events -------------------------------------------------------------------------------------
    def _asked(self, changes: Mapping[str, Any]) -> None:
        def asked() -> None:
            told = dict(changes)
            if "filters" in told:
                told["filters"] = filters_of(told["filters"])
            if "variant" in told and told["variant"] != self.session.variant:
                told["knobs"] = {}  # another variant has its own
            if "query" in told and told["query"] != self.session.query:
                self.trail = ()
            if any(getattr(self.session, n) != v for n, v in told.items()):
                self.ask(**told)

        self._guarded(asked)

    def _pinned_by_name(self, text: str) -> None:
        def pinned() -> None:
            target = (
                resolve(
                    self.bench.collection, text.strip(), self.view.result if self.view else None
                )
                if text.strip()
                else None
            )
            self.pin(target)
            if target is not None:
                self.explain(target)

        self._guarded(pinned)

    def _clicked(self, kind: str, value: str) -> None:
        known = (
            {
                r.key: r.chunk.id
                for r in [*self.view.rows, *([self.view.pinned] if self.view.pinned else [])]
            }
            if self.view
            else {}
        )
        if kind == "row" and value in known:
            self._guarded(lambda: self.explain(known[value]))
        elif kind == "pin" and (value in known or not value):
            self._guarded(lambda: self.pin(known.get(value)))
        elif kind == "apply" and self._told:
            found = next((c for c in self._told[1] if c.knob == value and c.change), None)
            if found is not None:
                self._guarded(lambda: self.turn(found.knob, found.plain))

    def _turned(self, knob: str, value: Any) -> None:
        self._guarded(lambda: self.turn(knob, value))

    def _saved(self, path: str) -> str:
        return f"Written: {self.write_incident(path)}"

    def _guarded(self, act: Callable[[], Any]) -> None:
        """Do it; what goes wrong is said in the status line, and the last good look stays."""
        self.problem = ""
        try:
            act()
        except WorkbenchError as error:
            self.problem = str(error)
        except Exception as error:  # a page that swallows a fault would look answered
            self.problem = f"{type(error).__name__}: {error}"
            raise
        finally:
            if self.problem:
                self._back()
                self._status.value = f'<span class="error">{shown(self.problem, 600)}</span>'

    def _back(self) -> None:
        """Set the session and the form to the look that is shown."""
        if self.view is None:
            return
        self._ready, before = False, self._ready  # what is shown is not looked up again
        self.session = self.view.session
        self._ready = before
        self._form.show(self.session)
        self._show_knobs()

    def _show_knobs(self) -> None:
        """Set the knobs' elements to the session, made anew where other stages have other knobs."""
        panel = self.session.panel
        if tuple((k.name, k.choices) for k in panel.values()) == self._knob_names:
            self._form.set_quietly(
                {
                    n: (self._controls[n], k.low if k.value is None else k.value)
                    for n, k in panel.items()
                }
            )
            return
        self._knob_names = tuple((k.name, k.choices) for k in panel.values())
        self._controls = {
            n: control(k, self.session.depth, self._form.unless_set(self._turned))
            for n, k in panel.items()
        }
        self._knobs.children = [grouped(self._controls), self._form.reset]

    def _show_status(self, view: View) -> None:
        lists = ", ".join(f"{r.name} {len(r):,}" for r in view.result.lists)
        how = f"Retrieved: {view.again}" if view.again else "Answered from frozen lists"
        notes = " ".join(s.note + "." for s in view.result.spans if s.call == "note" and s.note)
        self._status.value = f'<span class="status">{shown(how, 200)}, {view.seconds * 1e3:.0f} ms. {len(view.result.fused):,} rows of {shown(lists, 200)}. {shown(notes, 200)}</span>'

    def _watch_html(self, view: View, said: Sequence[str]) -> str:
        """The pinned document's line: its rank now and before, and `said`, two lines of why and what would help."""
        if view.pinned is None:
            return ""
        rank, first = view.pinned.rank, view.session.first
        where = (
            "not in the ranking"
            if rank is None
            else f"rank {rank:,}"
            + (f", in the first {first}" if rank <= first else f", not in the first {first}")
        )
        trail = " → ".join(
            "absent" if r is None else f"{r:,}" for r, _ in [*groupby(self.trail)][:-1]
        )
        title = shown(view.pinned.chunk.title or view.pinned.chunk.entity_id, TITLE_CHARACTERS)
        turned = ", ".join(
            f"{words.knob_label(n)} {words.value_text(v)}" for n, v in self.session.knobs.items()
        )
        told = f'<span class="trail">before: {trail}</span>' if trail else ""
        return (
            f'<div class="watch" data-rank="{rank or ""}"><b>{where}</b> · {title} '
            f'<span class="trail">{shown(turned, 200)}</span> {told}'
            f"{''.join(f'<p>{shown(line, LINE)}</p>' for line in said if line)}</div>"
        )


def _in_two_lines(told: Explanation, answers: Sequence[Counterfactual]) -> tuple[str, str]:
    """Why it does not stand higher, else which lists hold it; and the best answer."""
    return next(iter(words.reason_texts(told)), words.list_text(told)), words.best_answer(answers)


def investigate(collection: str = "pydoc", query: str = "", **fields: Any) -> Investigation:
    """Open a loaded collection and show an investigation of a query. `fields` are `Session`'s; `pinned` may also be
    a document's name. Raises UnknownCollection, BadParameter."""
    bench = Bench(collection)
    name = fields.get("pinned")
    if isinstance(name, str):
        fields["pinned"] = resolve(
            bench.collection,
            name,
            bench.answered(Session(collection, query, **{**fields, "pinned": None}))[1],
        )
    made = Investigation(bench, Session(collection, query, **fields))
    if made.session.pinned is not None:
        made.explain(made.session.pinned)
    return made


# ---- A session written down as an incident file, from which a replica that shows the same r ----


def write_incident(
    collection: Collection, session: Session, selected: PointId | None, path: Path
) -> Path:
    """Capture the session's query and its pinned document, else the selected one.

    Raises BadParameter where there is neither, and for a query within filters, which an incident has not.
    """
    from workbench.analysis.capture.capture import capture
    from workbench.analysis.capture.capture import write_incident as written
    from workbench.analysis.capture.live import Loaded

    target = session.pinned if session.pinned is not None else selected
    if target is None:
        raise BadParameter("an incident is about a document", do="Pin one, or click a row")
    if session.filters:
        raise BadParameter("an incident has no filters", do="Search without them, then write it")
    written(path, capture(Loaded(collection), session.query, target, limit=session.first))
    return path.absolute()
