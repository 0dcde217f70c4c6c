"""The root of every error that a user can cause; each room names its own below it."""

from __future__ import annotations

LONGEST = 600


def _shortened(text: str) -> str:
    if len(text) <= LONGEST:
        return text
    half = LONGEST // 2
    return f"{text[:half]} … [{len(text) - 2 * half:,} characters] … {text[-half:]}"


class WorkbenchError(Exception):
    """Something the user can mend: says what was wrong, where, and what to do.

    `str(error)` is one line, `what (where): do`, that is printed as it is; the parts stay readable for tools. A part of
    more than LONGEST characters is shortened in its middle.
    """

    def __init__(self, what: str, *, where: str = "", do: str = "") -> None:
        what, where, do = map(_shortened, (what, where, do))
        self.what, self.where, self.do = what, where, do
        super().__init__(what + (f" ({where})" if where else "") + (f". {do}" if do else ""))


class BadParameter(WorkbenchError):
    """A name that is not known, or a value of the wrong type or out of range."""


class NotAvailable(WorkbenchError):
    """An engine, model or store cannot do this here; says which and why."""
