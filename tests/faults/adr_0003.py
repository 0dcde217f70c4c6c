"""Faults that the claims of adr-0003 must notice."""

from __future__ import annotations

from faults import Fault

FAULTS: list[Fault] = []
