"""The root of every error that a user can cause; each room names its own below it."""

from __future__ import annotations

LONGEST, LONGEST_HINT = 600, 2_000
"""Characters of what is wrong and where, and of the hint, which may list all that is known."""


def _shortened(text: str, longest: int = LONGEST) -> str:
    if len(text) <= longest:
        return text
    half = longest // 2
    return f"{text[:half]} … [{len(text) - 2 * half:,} characters] … {text[-half:]}"


class WorkbenchError(Exception):
    """Something the user can mend: says what was wrong, where, and what to do.

    `str(error)` is one line, `what (where): do`, that is printed as it is; the parts stay readable for tools. A part
    that is too long is shortened in its middle.
    """

    def __init__(self, what: str, *, where: str = "", do: str = "") -> None:
        what, where, do = _shortened(what), _shortened(where), _shortened(do, LONGEST_HINT)
        self.what, self.where, self.do = what, where, do
        super().__init__(what + (f" ({where})" if where else "") + (f". {do}" if do else ""))


class BadParameter(WorkbenchError):
    """A name that is not known, or a value of the wrong type or out of range."""


class NotAvailable(WorkbenchError):
    """An engine, model or store cannot do this here; says which and why."""
