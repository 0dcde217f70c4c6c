"""The one tokenizer: what a term is, on inputs on which public systems failed."""

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from workbench.text import DEFAULT, STOP_LISTS, Tokenizer, excerpt, fold, verbatim_key, visible
from workbench.types import Query


@pytest.mark.parametrize(
    "text, terms",
    [
        ("Meeting 2026-11-11 09:58", ["meeting", "2026", "11", "09", "58"]),
        ("RULE-A002", ["rule", "a002"]),
        ("covid-19", ["covid", "19"]),
        ("numpy.linalg.svd", ["numpy", "linalg", "svd"]),
        ("CVE-2024-1234", ["cve", "2024", "1234"]),
        ("a/b", ["b"]),
        ("órgãos", ["orgaos"]),
        ("bar's", ["bar", "s"]),
        ("something, with:x", ["something", "x"]),
        ("snake_case", ["snake", "case"]),
        ("日本語", ["日本語"]),
        ("🎉", []),
        ("", []),
        ("?", []),
        ("DO USE FIND /", ["do", "use", "find"]),
    ],
)
def test_terms_of_a_query(text, terms):
    assert DEFAULT.query_terms(text) == terms


@pytest.mark.parametrize("forms", [("ședință", "şedinţă", "sedinta", "SEDINTA", "Şedinţă"), ("acao", "ação"), ("café", "cafe"), ("łaska", "laska"), ("straße", "STRASSE", "strasse")])  # fmt: skip
def test_forms_of_one_word_are_one_term(forms):
    assert len({tuple(DEFAULT.terms(f)) for f in forms}) == 1


def test_decomposed_and_composed_text_are_one_term():
    assert DEFAULT.terms("s\u0326edint\u0326a\u0306") == DEFAULT.terms("ședință") == ["sedinta"]


@pytest.mark.parametrize("word, term", [("thé", "the"), ("án", "an"), ("às", "as")])
def test_folding_never_turns_a_word_into_a_stop_word(word, term):
    assert DEFAULT.terms(word) == [term]
    assert DEFAULT.terms(term) == []


def test_upper_case_stop_words_are_stop_words():
    assert DEFAULT.terms("THE the The") == []


def test_a_long_path_is_all_its_parts():
    path = "/srv/projects/example/production/releases/2026/november/config.yaml"
    assert len(path) > 60
    assert DEFAULT.terms(path)[-3:] == ["november", "config", "yaml"]


def test_words_in_indic_scripts_keep_their_vowels():
    assert DEFAULT.terms("हिन्दी भाषा") == ["हिन्दी", "भाषा"]


@pytest.mark.parametrize("mark", ["?", ".", "!", "?!", " ... ", "？", "。"])
def test_marks_at_the_end_of_a_query_are_cut_alike(mark):
    text = "When did Melanie paint a sunrise"
    assert Query(text + mark).normalised == Query(text).normalised == text
    assert Query("v1.2!important .gitignore").normalised == "v1.2!important .gitignore"


@settings(max_examples=200, deadline=None)
@given(st.text(max_size=60))
def test_terms_of_terms_are_themselves(text):
    plain = Tokenizer(stop="none")
    terms = plain.terms(text)
    assert plain.terms(" ".join(terms)) == terms


@settings(max_examples=200, deadline=None)
@given(st.text(max_size=60))
def test_the_fast_path_for_plain_text_agrees_with_the_general_one(text):
    ascii_text = text.encode("ascii", "ignore").decode()
    # A letter outside ASCII forces the general path; it is a term of its own.
    assert DEFAULT.terms(ascii_text + " ж") == DEFAULT.terms(ascii_text) + ["ж"]


@settings(max_examples=200, deadline=None)
@given(st.text(max_size=40))
def test_no_term_holds_white_space(text):
    assert all(t and not any(c.isspace() for c in t) for t in DEFAULT.terms(text))


def test_folding_is_stable():
    assert all(fold(fold(w)) == fold(w) for w in ("ẞ", "İ", "ﬁ", "ǅ", "Ø", "ﬃ"))


def test_stemming_is_named_and_off_by_default():
    assert DEFAULT.terms("running runs") == ["running", "runs"]
    assert Tokenizer(stem="porter").terms("running runs") == ["run", "run"]
    assert "porter" in Tokenizer(stem="porter").name


def test_the_stop_list_is_lucenes_thirty_three():
    assert len(STOP_LISTS["lucene-en-33"]) == 33


def test_verbatim_ignores_case_and_runs_of_white_space():
    assert verbatim_key(" Error\n\t HANDLING ") == "error handling"


def test_a_terminal_never_sees_escapes_or_direction_overrides():
    shown = visible("a\x1b[31mred\u202eevil\x07")
    assert "\x1b" not in shown and "\u202e" not in shown and "\x07" not in shown
    assert "red" in shown


@settings(max_examples=300, deadline=None)
@given(st.one_of(st.text(max_size=60), st.text(alphabet="aABb1 .-'ü", max_size=20)), st.data())
def test_a_text_holds_just_the_terms_that_are_its_own(text, data):
    for tokenizer in (DEFAULT, Tokenizer(stem="porter")):
        own = tokenizer.terms(text)
        wanted = data.draw(st.lists(st.sampled_from([*own, "a", "ab", "b1", "u", "ü"]), max_size=3))
        assert tokenizer.holds_all(text, wanted) == (set(wanted) <= set(own))


@pytest.mark.parametrize(
    ("text", "title", "shown"),
    [
        ("Latency budget\n\nThe latency is\nbounded.", "Latency budget", "The latency is …"),
        ("Budget", "Budget", ""), ("Budget", "Budget\n\nbody", "Budget"), ("Budgets are met", "Budget", "Budgets are met"),
        ("one two three four five six seven", "", "one two three four …"), ("one two three four fiv", "", "one two three four …"),
        ("twenty is enough now", "", "twenty is enough now"), ("x" * 50, "", "x" * 20 + " …"), ("a " + "x" * 50, "", "a " + "x" * 18 + " …"),
        ("a" + " " * 500 + "b" * 50, "", "a …"), ("", "", ""), ("", "t", ""),
    ],
)  # fmt: skip
def test_an_excerpt_repeats_no_title_and_ends_with_a_word(text, title, shown):
    assert excerpt(text, title, 20) == shown
