"""Faults that the claims of notes-search must notice."""

from __future__ import annotations

from faults import Fault

FAULTS: list[Fault] = []
