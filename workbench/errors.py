"""The root of every error that a user can cause; each room names its own below it."""

from __future__ import annotations


class WorkbenchError(Exception):
    """Something the user can mend: says what was wrong, where, and what to do.

    `str(error)` is one line, `what (where): do`, that is printed as it is; the parts stay readable for tools.
    """

    def __init__(self, what: str, *, where: str = "", do: str = "") -> None:
        self.what, self.where, self.do = what, where, do
        super().__init__(what + (f" ({where})" if where else "") + (f". {do}" if do else ""))


class BadParameter(WorkbenchError):
    """A name that is not known, or a value of the wrong type or out of range."""


class NotAvailable(WorkbenchError):
    """An engine, model or store cannot do this here; says which and why."""
