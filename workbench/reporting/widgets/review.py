"""The review queue in a notebook: request and entry side by side, why it was not served, approve or reject.

    from workbench.reporting.widgets.review import Review
    Review("demo", by="Ada")

State is in traits, the computation in plain functions: `card` alone is the static view that an exported page shows.
"""

from __future__ import annotations

import html
from collections.abc import Callable
from typing import Any

import ipywidgets
import traitlets

from workbench.errors import WorkbenchError
from workbench.matching.library import Library, open_library
from workbench.matching.queue import Candidate, approve, candidates, conditions, reject
from workbench.matching.request import RecordedRequest
from workbench.reporting.html import word_differences
from workbench.reporting.theme import VERDICT_COLOURS
from workbench.text import visible

MET, BROKEN = VERDICT_COLOURS["HOLDS"], VERDICT_COLOURS["DIFFERS"]
_STYLE = f"""<style>
.wb-review {{ font: 14px/1.5 sans-serif; }}
.wb-review .pair {{ display: grid; grid-template-columns: 1fr 1fr; gap: 16px; }}
.wb-review .side {{ border: 1px solid #e3e6eb; border-radius: 6px; padding: 10px 12px; overflow-wrap: anywhere; }}
.wb-review pre {{ white-space: pre-wrap; font: inherit; margin: 4px 0 0; max-height: 22em; overflow: auto; unicode-bidi: plaintext; }}
.wb-review del {{ background: #f8d9d4; text-decoration: none; }}
.wb-review ins {{ background: #d5ecd9; text-decoration: none; }}
.wb-review ul {{ list-style: none; padding: 0; margin: 8px 0; display: flex; flex-wrap: wrap; gap: 4px 16px; }}
.wb-review .met {{ color: {MET}; }} .wb-review .broken {{ color: {BROKEN}; font-weight: 600; }}
.wb-review small {{ color: #566072; }}
</style>"""


def conversation(request: RecordedRequest) -> str:
    """The whole request as a person reads it: a line for each speaker, the system text first."""
    lines = [f"system: {request.system}"] if request.system else []
    for message in request.messages:
        attached = "".join(
            f"\n[{p.kind} {p.name}]" for p in message.parts if p.kind in ("media", "opaque")
        )
        lines.append(f"{message.role}: {message.text}{attached}")
    return "\n\n".join(lines)


def card(library: Library, found: Candidate) -> str:
    """One candidate as HTML: both sides with their differences, score and tier, conditions met and broken, the answer."""
    asked, recorded = library.request(found.request_id), library.request(found.entry_id)
    left, right = word_differences(conversation(asked), conversation(recorded))
    told = "".join(
        f'<li class="{"met" if c.met else "broken"}">{"✓" if c.met else "✗"} {_text(c.name)}'
        f"{f' <small>{_text(c.detail)}</small>' if c.detail else ''}</li>"
        for c in conditions(library, found)
    )
    serve = (
        library.settings.embedding_serve if found.tier == "embedding" else library.settings.serve
    )
    answer = library.answer(found.entry_id)
    calls = "".join(f"\n{name} {arguments}" for name, arguments in answer.calls)
    return (
        f'{_STYLE}<div class="wb-review"><b>Candidate {found.id}</b> · {_text(found.tier)} <b>{found.score:.3f}</b>, '
        f"{'this tier never serves' if serve is None else f'serves from {serve:g}'} · {_text(found.state)}<ul>{told}</ul>"
        f'<div class="pair"><div class="side"><b>asked</b><pre>{left}</pre></div>'
        f'<div class="side"><b>recorded</b><pre>{right}</pre></div></div>'
        f'<div class="side" style="margin-top: 12px"><b>its answer</b><pre>{_text(answer.text + calls)}</pre></div></div>'
    )


def _text(text: str) -> str:
    return html.escape(visible(text))


class Review(ipywidgets.VBox):
    """One open candidate at a time. `current` is its number (0: none is open), `left` how many are open, `said` what
    the last decision did; setting `current` shows another one."""

    current = traitlets.Int(0)
    left = traitlets.Int(0)
    said = traitlets.Unicode("")

    def __init__(self, library: Library | str, by: str = "", **options: Any) -> None:
        self.library = open_library(library) if isinstance(library, str) else library
        self.by = by
        self._card, self._line = ipywidgets.HTML(), ipywidgets.HTML()
        self.approve_button = self._button("Approve", "success", self.approve)
        self.reject_button = self._button("Reject", "danger", self.reject)
        self.skip_button = self._button("Later", "", self.skip)
        buttons = ipywidgets.HBox(
            [self.approve_button, self.reject_button, self.skip_button, self._line]
        )
        super().__init__([self._card, buttons], **options)
        self.show_next()

    def _button(self, text: str, style: str, act: Callable[[], None]) -> ipywidgets.Button:
        made = ipywidgets.Button(description=text, button_style=style)
        made.on_click(lambda _: act())
        return made

    def approve(self) -> None:
        """Serve this entry for this request from now on."""
        self._decide(approve)

    def reject(self) -> None:
        """Never propose or serve this pair again."""
        self._decide(reject)

    def skip(self) -> None:
        """Leave it open and show the next one."""
        self.said = f"{self.current} stays open" if self.current else ""
        self.show_next(after=self.current)

    def _decide(self, decide: Callable[..., Candidate]) -> None:
        if not self.current:
            return
        try:
            found = decide(self.library, self.current, self.by)
            self.said = f"{found.id} is {found.state}"
        except WorkbenchError as error:  # another reviewer was first: say it, go on
            self.said = str(error)
        self.show_next(after=self.current)

    def show_next(self, after: int = 0) -> None:
        """Show the next open candidate behind `after`, else the first one."""
        waiting = candidates(self.library, "open", 1, after) or candidates(self.library, "open", 1)
        self.current = waiting[0].id if waiting else 0
        self._refresh()

    @traitlets.observe("current", "said")
    def _refresh(self, change: Any = None) -> None:
        count = "SELECT count(*) FROM candidates WHERE state = 'open'"
        self.left = self.library.db.execute(count).fetchone()[0]
        found = candidates(self.library, None, 1, self.current - 1) if self.current else []
        self._card.value = card(self.library, found[0]) if found else "<i>No candidate is open.</i>"
        self._line.value = _text(f"{self.left:,} open" + (f" · {self.said}" if self.said else ""))
        for button in (self.approve_button, self.reject_button, self.skip_button):
            button.disabled = not found

    def _repr_mimebundle_(self, **options: Any) -> Any:
        """The widget, and for pages without one the card as it stands."""
        made = super()._repr_mimebundle_(**options)
        data, *rest = made if isinstance(made, tuple) else (made,)
        data = {**(data or {}), "text/html": self._card.value}
        return (data, *rest) if rest else data
