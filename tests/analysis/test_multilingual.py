"""On XQuAD's Romanian the multilingual model finds what the English one does not, in Romanian and across languages.

A quarter of it, so that the test takes seconds; docs/search.md has the figures of the whole.
"""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path

import pytest

from workbench.analysis.evaluate.comparison import Comparison, compare
from workbench.analysis.evaluate.judged import judge
from workbench.analysis.runs import run_variants
from workbench.retrieval.search import open_collection
from workbench.sources.base import Source
from workbench.sources.judged_sets import squad
from workbench.stores.load import load

ARTICLES = 12
"""The first of 48: 60 paragraphs and 322 questions."""
METRICS = ("Success@1", "nDCG@10")
PAIRS = (("semantic", "semantic_by"), ("adr_0172", "adr_0172_multilingual"), ("adr_0172", "adr_0172+semantic_by"))
"""The English model's and the multilingual one's list alone, and within ADR 0172's: in its place, and beside it."""

pytestmark = pytest.mark.shared


@pytest.fixture(scope="module")
def languages(
    shared_data: Callable[[str], Path], multilingual_home: Path, tmp_path_factory: pytest.TempPathFactory
) -> dict[str, Source]:
    """The beginning of XQuAD in both languages, loaded as `ro` and `en` with both models."""
    directory, found = tmp_path_factory.mktemp("xquad"), {}
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("WORKBENCH_HOME", str(multilingual_home))
        for language in ("ro", "en"):
            whole = json.loads((shared_data("xquad-ro-en") / f"xquad.{language}.json").read_text(encoding="utf-8"))
            path = directory / f"{language}.json"
            path.write_text(json.dumps({"data": whole["data"][:ARTICLES]}), encoding="utf-8")
            load(path, name=language, also="multilingual-e5-small-q4", progress=False)
            found[language] = squad()(path)
    return found


def compared(languages: dict[str, Source], documents: str) -> Comparison:
    """Romanian questions over the paragraphs of a language: a paragraph has the same id in every language."""
    asked = languages["ro"].queries
    with open_collection(documents) as collection:
        ran = run_variants(collection, asked, list(dict.fromkeys(v for pair in PAIRS for v in pair)))
    return compare(ran.runs, judge(asked, languages[documents].qrels), METRICS, seed=1, pairs=PAIRS)


@pytest.mark.parametrize("documents", ["ro", "en"])
def test_the_multilingual_model_is_the_better_one_for_romanian_questions(
    languages: dict[str, Source], documents: str, multilingual: object
) -> None:
    found = compared(languages, documents)
    assert found.n == 322
    for english, other in PAIRS:
        for metric in METRICS:
            pair = found.pair(english, other, metric)
            assert pair["low"] > 0 and pair["p"] < 0.01, found.sentence(english, other, metric)
