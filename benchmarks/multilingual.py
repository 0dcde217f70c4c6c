"""XQuAD's Romanian questions by the English model and by the multilingual one: the figures of docs/search.md."""

from __future__ import annotations

from collections.abc import Iterator

from benchmarks.harness import Row, benchmark

MODEL = "multilingual-e5-small-q4"
METRICS = ("Success@1", "nDCG@10")
PAIRS = (("semantic", "semantic_by"), ("adr_0172", "adr_0172_multilingual"), ("adr_0172", "adr_0172+semantic_by"))
ASKED = (("ro", "ro"), ("ro", "en"), ("en", "en"))
"""The language of the questions, and of the paragraphs: one has the same id in every language."""
SEED = 1


@benchmark("multilingual")
def multilingual() -> Iterator[Row]:
    """Success@1 and nDCG@10 of each model's list alone and within ADR 0172; the difference with its 95 % interval."""
    from workbench.analysis.evaluate.comparison import compare
    from workbench.analysis.evaluate.judged import judge
    from workbench.analysis.runs import run_variants
    from workbench.errors import NotAvailable
    from workbench.retrieval.search import open_collection
    from workbench.sources.judged_sets import public, squad, why_absent
    from workbench.stores.load import load

    folder = public("xquad-ro-en")
    if folder is None:
        raise NotAvailable(why_absent("xquad-ro-en"))
    files = {language: folder / f"xquad.{language}.json" for language in ("ro", "en")}
    for language, file in files.items():
        load(file, name=f"xquad-{language}-both", also=MODEL, progress=False)
    variants = list(dict.fromkeys(v for pair in PAIRS for v in pair))
    for asked, held in ASKED:
        source = squad()(files[asked])
        with open_collection(f"xquad-{held}-both") as collection:
            ran = run_variants(collection, source.queries, variants)
        found = compare(ran.runs, judge(source.queries, source.qrels), METRICS, seed=SEED, pairs=PAIRS)
        on = f"{asked} questions, {held} paragraphs"
        for row in found.per_variant.to_dicts():
            yield Row(f"multilingual/{on}: {row['variant']}, {row['metric']}", row["value"], "", None, "one relevant paragraph each", row["n"])
        for a, b in PAIRS:
            pair = found.pair(a, b, "nDCG@10")
            yield Row(f"multilingual/{on}: {b} less {a}, nDCG@10", pair["difference"], "", None,
                      f"95 % interval {pair['low']:+.3f} to {pair['high']:+.3f}", pair["n"])  # fmt: skip
