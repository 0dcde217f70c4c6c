"""Faults that the claims of ADR 0172 must notice."""

from __future__ import annotations

from functools import partial

from pytest import MonkeyPatch

from faults import Fault, stage
from workbench.types import Ranking


def no_verbatim(patch: MonkeyPatch) -> None:
    stage(patch, "derived", "verbatim", lambda real: lambda query, ctx, **given: Ranking("verbatim", (), ()))


def rrf_of(k: int, patch: MonkeyPatch) -> None:
    stage(patch, "fusion", "rrf", lambda real: lambda lists, **given: real(lists, **given | {"k": k}))


FAULTS = [
    Fault("verbatim list dropped", ("A07",), no_verbatim, quick=True),
    Fault("RRF with k = 61", ("A07",), partial(rrf_of, 61), quick=True),
]
