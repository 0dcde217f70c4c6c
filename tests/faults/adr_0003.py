"""Faults that the claims of adr-0003 must notice."""

from __future__ import annotations

from typing import Any

from pytest import MonkeyPatch

from faults import Fault, stage
from records.adr_0003 import cascade
from workbench.matching import cascade as matching
from workbench.matching import similarity
from workbench.matching.library import Library


def dice_is(change: Any, patch: MonkeyPatch) -> None:
    real = similarity.dice_multiset
    changed = lambda a, b: change(real, a, b)  # noqa: E731
    patch.setattr(cascade, "dice_multiset", changed)
    patch.setitem(similarity.LIKENESSES, "dice_multiset", changed)


def dice_asymmetrical(patch: MonkeyPatch) -> None:
    dice_is(lambda real, a, b: sum(w in b for w in a) / len(a) if a else 0.0, patch)


def dice_of_nothing_is_one(patch: MonkeyPatch) -> None:
    dice_is(lambda real, a, b: real(a, b) if a or b else 1.0, patch)


def rejections_ignored(patch: MonkeyPatch) -> None:
    real = Library.candidate_states
    patch.setattr(Library, "rejected", lambda self, normalised: set())
    patch.setattr(
        Library,
        "candidate_states",
        lambda self, n: {k: "open" if v == "rejected" else v for k, v in real(self, n).items()},
    )


def misses_not_logged(patch: MonkeyPatch) -> None:
    real = matching._row

    def row(prepared: Any, outcome: str, found: Any) -> Any:
        return real(prepared, "served" if outcome == "miss" else outcome, found)

    patch.setattr(matching, "_row", row)


def embeddings_serve(patch: MonkeyPatch) -> None:
    stage(
        patch,
        "tier",
        "embedding",
        lambda real: lambda ask, library, **given: real(ask, library, **given | {"serve": 0.9}),
    )


FAULTS: list[Fault] = [
    Fault("Dice asymmetrical", ("C03", "C04"), dice_asymmetrical, quick=True),
    Fault("Dice of two empty lists is 1", ("C03",), dice_of_nothing_is_one, quick=True),
    Fault("rejections ignored by the tiers", ("C07",), rejections_ignored),
    Fault("misses are logged as served", ("C01",), misses_not_logged),
    Fault("embeddings serve at 0.9", ("C12",), embeddings_serve),
]
