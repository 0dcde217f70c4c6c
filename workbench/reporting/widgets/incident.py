"""A session written down as an incident file, from which a replica that shows the same ranks is made."""

from __future__ import annotations

from pathlib import Path

from workbench.errors import BadParameter
from workbench.reporting.widgets.session import Session
from workbench.retrieval.search import Collection
from workbench.types import PointId


def write_incident(collection: Collection, session: Session, selected: PointId | None, path: Path) -> Path:
    """Capture the session's query and its pinned document, else the selected one.

    Raises BadParameter where there is neither, and for a query within filters, which an incident has not.
    """
    from workbench.analysis.capture import capture
    from workbench.analysis.capture_file import write_incident as written
    from workbench.analysis.live import Loaded

    target = session.pinned if session.pinned is not None else selected
    if target is None:
        raise BadParameter("an incident is about a document", do="Pin one, or click a row")
    if session.filters:
        raise BadParameter("an incident has no filters", do="Search without them, then write it")
    written(path, capture(Loaded(collection), session.query, target, limit=session.first))
    return path.absolute()
