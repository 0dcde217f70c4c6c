"""Faults that the claims of adr-0003 must notice."""

from __future__ import annotations

import time
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from dataclasses import replace
from functools import partial
from typing import Any

from pytest import MonkeyPatch

from faults import Fault, stage
from records.adr_0003 import cascade, embedding, install, probe, queue, sweep, thresholds
from workbench.matching import cascade as matching
from workbench.matching import library as library_module
from workbench.matching import schema as entries
from workbench.matching import similarity, tiers
from workbench.matching.fingerprint import Prepared
from workbench.matching.index import Fts5Index
from workbench.matching.library import Library
from workbench.matching.vectors import Matrix


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


def alias_calls_the_model(patch: MonkeyPatch) -> None:
    def calling(real: Any) -> Any:
        def asked(ask: Any, library: Library, **given: Any) -> Any:
            with suppress(RuntimeError):
                library.encoder.encode([ask.last])
            return real(ask, library, **given)

        return asked

    stage(patch, "tier", "alias", calling)


def opens_without_the_model(patch: MonkeyPatch) -> None:
    silent = "import workbench.matching.vectors as e\ne.open_encoder = lambda tokens: None\n"
    patch.setattr(install, "_OPEN", silent + install._OPEN)


def condition_removed(name: str, patch: MonkeyPatch) -> None:
    real = tiers.shape_differences
    patch.setattr(
        tiers, "shape_differences", lambda a, b: tuple(n for n in real(a, b) if n != name)
    )


def shape_not_probed(patch: MonkeyPatch) -> None:
    patch.setattr(probe, "shape_differences", lambda a, b: ())


def speakers_ignored(patch: MonkeyPatch) -> None:
    every = "SELECT id FROM requests WHERE answered = 1"
    patch.setattr(
        Fts5Index,
        "propose",
        lambda self, db, words, speakers, limit: [row[0] for row in db.execute(every)],
    )


def answered_stay_open(patch: MonkeyPatch) -> None:
    patch.setattr(entries, "close_answered", lambda *given: None)


def others_stay_open(patch: MonkeyPatch) -> None:
    real = queue.approve

    def approve(library: Library, *given: Any) -> Any:
        found = real(library, *given)
        library.db.execute("UPDATE candidates SET state = 'open' WHERE state = 'superseded'")
        return found

    patch.setattr(queue, "approve", approve)


def bm25_constant(patch: MonkeyPatch) -> None:
    real = Fts5Index.ranked
    patch.setattr(Fts5Index, "ranked", lambda *given: [(i, 1.0) for i, _ in real(*given)])


def tiers_turned(patch: MonkeyPatch) -> None:
    real = matching.cascade_of
    for module in (matching, cascade):
        patch.setattr(module, "cascade_of", lambda s: (*real(s)[1::-1], *real(s)[2:]))


def score_not_logged(patch: MonkeyPatch) -> None:
    real = matching._row

    def row(*given: Any) -> Any:
        made = real(*given)
        return (*made[:4], None, *made[5:])

    patch.setattr(matching, "_row", row)


def scan_reads_one_more(patch: MonkeyPatch) -> None:
    real = library_module.index_of
    patch.setattr(
        library_module,
        "index_of",
        lambda name, **given: real(name, **given | {"scan_limit": given["scan_limit"] + 1}),
    )


def whole_conversation_embedded(patch: MonkeyPatch) -> None:
    def texts(self: Prepared) -> str:
        said = [part.text for m in self.request.messages for part in m.parts]
        return " ".join([self.request.system, *said])

    patch.setattr(Prepared, "last", property(texts))


def writes_wait(patch: MonkeyPatch) -> None:
    real = Library.record_many

    def waiting(self: Library, *given: Any, **more: Any) -> Any:
        made = real(self, *given, **more)
        self.wait_for_vectors()
        return made

    patch.setattr(Library, "record_many", waiting)


def four_candidates(patch: MonkeyPatch) -> None:
    patch.setattr(
        Library, "settings", property(lambda self: replace(self.project.settings, max_candidates=4))
    )


def closed_are_forgotten(patch: MonkeyPatch) -> None:
    real = queue.reject

    def reject(library: Library, candidate_id: int) -> Any:
        found = real(library, candidate_id)
        library.db.execute("DELETE FROM candidates WHERE id = ?", (candidate_id,))
        return found

    patch.setattr(queue, "reject", reject)


def approvals_change_nothing(patch: MonkeyPatch) -> None:
    patch.setattr(Library, "aliases", lambda self, fingerprint: [])


def nothing_found_without_packages(patch: MonkeyPatch) -> None:
    needed = """
from workbench.matching.library import Library
from workbench.matching.vectors import Matrix
try:
    import fastembed
except ImportError:
    Library.exact = lambda *given: None
    Library.normalised = lambda *given: []
    Library.compared = lambda *given: {}
"""
    patch.setattr(install, "_OPEN", needed + install._OPEN)


def search_takes_as_long_as_the_model(patch: MonkeyPatch) -> None:
    real = Matrix.nearest

    def nearest(self: Matrix, *given: Any) -> Any:
        time.sleep(0.05)
        return real(self, *given)

    patch.setattr(Matrix, "nearest", nearest)


class NothingIsDone(ThreadPoolExecutor):
    def submit(self, *given: Any, **more: Any) -> Any:
        return super().submit(lambda: None)


def encodes_nothing_beside(patch: MonkeyPatch) -> None:
    patch.setattr(embedding, "ThreadPoolExecutor", NothingIsDone)


def a_score_of_one_goes_to_review(patch: MonkeyPatch) -> None:
    patch.setattr(thresholds, "ADR_0003_RULES", (sweep.Rule(serve=None),))


def without_fts5_nothing_is_scanned(patch: MonkeyPatch) -> None:
    silent = "from workbench.matching.index import ScanIndex\nScanIndex.propose = lambda *given: []\n"
    patch.setattr(cascade, "_WITHOUT_FTS5", silent + cascade._WITHOUT_FTS5)


FAULTS: list[Fault] = [
    Fault("Dice asymmetrical", ("C03", "C04"), dice_asymmetrical, quick=True),
    Fault("Dice of two empty lists is 1", ("C03",), dice_of_nothing_is_one, quick=True),
    Fault("rejections ignored by the tiers", ("C07",), rejections_ignored),
    Fault("misses are logged as served", ("C01",), misses_not_logged),
    Fault("embeddings serve at 0.9", ("C12",), embeddings_serve),
    Fault("an alias hit calls the model", ("C12",), alias_calls_the_model),
    Fault("opening without the model goes on silently", ("C13",), opens_without_the_model),
    Fault("the tools rule removed", ("C05",), partial(condition_removed, "tools"), quick=True),
    Fault("the parameters rule removed", ("C05",), partial(condition_removed, "params")),
    Fault("the speakers rule removed", ("C06",), speakers_ignored),
    Fault("answered requests stay open", ("C07",), answered_stay_open),
    Fault("approval leaves the other candidates open", ("C07",), others_stay_open),
    Fault("BM25 is constant", ("C02",), bm25_constant),
    Fault("tiers in another order", ("C01",), tiers_turned),
    Fault("the score is not logged", ("C01",), score_not_logged),
    Fault("the whole conversation is embedded", ("C09",), whole_conversation_embedded),
    Fault("a write waits for its vector", ("C12",), writes_wait),
    Fault("a fourth candidate", ("C07",), four_candidates),
    Fault("rejected candidates are forgotten", ("C07",), closed_are_forgotten),
    Fault("without the packages nothing is found", ("C16",), nothing_found_without_packages),
    Fault("approvals change nothing", ("C17",), approvals_change_nothing),
    Fault("the scan reads one entry more", ("C08",), scan_reads_one_more),
    Fault("no condition of shape", ("C15",), shape_not_probed),
    Fault("the search takes as long as the model", ("C10",), search_takes_as_long_as_the_model),
    Fault("beside the word search nothing is encoded", ("C11",), encodes_nothing_beside),
    Fault("a score of 1 goes to review", ("C14",), a_score_of_one_goes_to_review),
    Fault("without FTS5 nothing is scanned", ("C08",), without_fts5_nothing_is_scanned),
]
