"""The language of a query by its commonest words, measured on public questions; what does not tell is unknown."""

from __future__ import annotations

import json
import time
from collections import Counter

import pytest

from workbench.analysis.evaluate.query_attributes import UNKNOWN, language_of


@pytest.mark.shared
@pytest.mark.parametrize(("language", "right"), [("en", 0.99), ("ro", 0.97)])
def test_on_public_questions_it_is_right_and_hardly_ever_wrong(shared_data, language, right):
    (file,) = shared_data("xquad-ro-en").rglob(f"*.{language}.json")
    data = json.loads(file.read_text(encoding="utf-8"))["data"]
    found = Counter(language_of(q["question"]) for a in data for p in a["paragraphs"] for q in p["qas"])
    assert found[language] / found.total() > right
    assert found.total() - found[language] - found[UNKNOWN] <= 0.002 * found.total()


@pytest.mark.parametrize(
    ("text", "language"),
    [
        ("how is tea made", "en"), ("ședinţa de luni", "ro"), ("¿cuándo sale el barco?", "es"), ("où est le port", "fr"),
        ("wann fährt die Fähre", "de"), ("quando parte il traghetto", "it"), ("когда уходит паром", "ru"), ("上海的天气", "zh"),
        ("日本語のテキスト", "ja"), ("한국어 텍스트", "ko"), ("the role of αvβ8 in tolerance", "en"),
        ("RULE-A002", UNKNOWN), ("", UNKNOWN), ("numpy.linalg.svd", UNKNOWN), ("\ud800 🧠", UNKNOWN),
    ],
)  # fmt: skip
def test_sentences_scripts_and_what_tells_nothing(text, language):
    assert language_of(text) == language


def test_a_megabyte_is_looked_at_in_a_moment():
    start = time.process_time()
    language_of("x" * 1_000_000 + " the")
    assert time.process_time() - start < 0.5
