"""When a facet's text is a moment: one reading of written times, whatever each engine would take.

The law: a date, or a date and time to the minute, second or fraction (nine digits at most), with a zone or none:
ISO 8601's extended form with `T` or a blank between. A time without zone is UTC, a date is its first moment.
Qdrant's own reader refuses `09:58+02:00` and takes `2026-1-1` and ` UTC`; DuckDB's takes `epoch`.
"""

from __future__ import annotations

import re
from datetime import UTC, datetime

_HOUR = r"([01]\d|2[0-3])"
# Years 0001 to 9999, which every store and Python can hold. Written for Python's re and for RE2 alike.
ISO_8601 = (
    r"(\d{3}[1-9]|\d{2}[1-9]0|\d[1-9]00|[1-9]000)-\d\d-\d\d"
    rf"([T ]{_HOUR}:[0-5]\d(:[0-5]\d(\.\d{{1,9}})?)?(Z|[+-]{_HOUR}(:?[0-5]\d)?)?)?"
)
_MOMENT = re.compile(ISO_8601, re.ASCII)


def moment_of(text: str | None) -> str | None:
    """The moment that a text names, as RFC 3339 in UTC to the microsecond; None where it names none."""
    if text is None or not _MOMENT.fullmatch(text):
        return None
    try:
        return rfc3339(datetime.fromisoformat(text))
    except (ValueError, OverflowError):  # no such day, or beyond the first or last year in UTC
        return None


def rfc3339(moment: datetime) -> str:
    """A moment in UTC with a `Z`; one without zone is UTC."""
    moment = moment.replace(tzinfo=UTC) if moment.tzinfo is None else moment.astimezone(UTC)
    return moment.isoformat().replace("+00:00", "Z")
