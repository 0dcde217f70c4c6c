"""Parameters: what a notebook declares is what it gets, and everything else is refused before it starts."""

import numpy as np
import pytest
from helpers.made_record import NOTEBOOKS

from workbench.errors import BadParameter
from workbench.reporting.launcher import BadNotebook, Parameter, bind, bind_text, declared

DECLARED = {
    name: Parameter(name, kind, default)
    for name, kind, default in [
        ("text", "str", ""), ("whole", "int", 8), ("real", "float", 0.5), ("flag", "bool", False),
        ("words", "list[str]", []), ("numbers", "list[int]", []), ("size", "Literal['small', 'full']", "full"),
        ("cap", "int | None", None), ("k", "Literal[10, 60]", 60),
    ]
}  # fmt: skip


@pytest.mark.parametrize(
    ("name", "typed", "value"),
    [
        ("text", "0123", "0123"), ("text", "none", "none"), ("text", "", ""), ("text", "a=b, c", "a=b, c"),
        ("whole", "0", 0), ("whole", "-12", -12), ("real", "3", 3.0), ("real", "1e-3", 0.001), ("flag", "true", True),
        ("words", "a, b", ["a", "b"]), ("words", '["a, b", "c"]', ["a, b", "c"]), ("words", "", []),
        ("words", "0123", ["0123"]), ("numbers", "1,2", [1, 2]), ("size", "small", "small"), ("cap", "none", None),
        ("cap", "256", 256), ("k", "10", 10),
    ],
)  # fmt: skip
def test_what_is_typed_is_read_as_declared(name, typed, value):
    found = bind_text(DECLARED, {name: typed})[name]
    assert found == value and type(found) is type(value)


@pytest.mark.parametrize(
    ("name", "typed"),
    [
        ("whole", "0123"), ("whole", "1_000"), ("whole", "1.0"), ("whole", ""), ("whole", "٣"), ("whole", "true"),
        ("real", "nan"), ("real", "inf"), ("real", "1,5"), ("flag", "1"), ("flag", "True"), ("flag", ""),
        ("numbers", "1,x"), ("numbers", "01"), ("numbers", '[1, "2"]'), ("words", "[1]"), ("words", "["),
        ("size", "Small"), ("cap", "null"), ("k", "11"), ("k", "none"),
    ],
)  # fmt: skip
def test_what_does_not_fit_its_type_is_refused(name, typed):
    with pytest.raises(BadParameter, match=f"'{name}'"):
        bind_text(DECLARED, {name: typed})


def test_a_leading_zero_is_explained():
    with pytest.raises(BadParameter, match="'whole' must be int, not '0123'. An int has no leading zero"):
        bind_text(DECLARED, {"whole": "0123"})


@pytest.mark.parametrize("read", [bind, bind_text])
def test_an_unknown_name_is_refused_with_what_there_is(read):
    with pytest.raises(BadParameter, match=r"no parameter 'limti'.*whole: int = 8"):
        read(DECLARED, {"limti": "8"})


@pytest.mark.parametrize(
    ("name", "given", "value"),
    [
        ("whole", np.int64(5), 5), ("whole", np.uint8(5), 5), ("real", np.float32(0.5), 0.5), ("real", 3, 3.0),
        ("flag", np.bool_(True), True), ("numbers", [np.int32(1), 2], [1, 2]), ("numbers", (1, 2), [1, 2]),
        ("text", np.str_("0123"), "0123"), ("cap", None, None), ("k", np.int64(10), 10),
    ],
)  # fmt: skip
def test_numpy_values_become_plain_ones_of_the_declared_type(name, given, value):
    found = bind(DECLARED, {name: given})[name]
    assert found == value and type(found) is type(value)


@pytest.mark.parametrize(
    ("name", "given"),
    [
        ("whole", "5"), ("whole", 5.0), ("whole", True), ("whole", None), ("real", "0.5"), ("real", float("nan")),
        ("flag", 1), ("text", 123), ("words", "a"), ("words", [1]), ("numbers", np.array([1, 2])), ("k", "10"), ("k", 10.0),
    ],
)  # fmt: skip
def test_a_value_of_another_type_is_never_converted(name, given):
    with pytest.raises(BadParameter, match=f"'{name}' must be"):
        bind(DECLARED, {name: given})


def test_a_parameters_cell_is_read_with_its_types_defaults_and_comments():
    found = declared(NOTEBOOKS / "whole.ipynb")
    assert found == {
        "limit": Parameter("limit", "int", 8, "results on a page"), "label": Parameter("label", "str", ""),
    }  # fmt: skip


@pytest.mark.parametrize(
    ("notebook", "fault"),
    [
        ("no_parameters", "0 cells are tagged 'parameters'"), ("untyped_parameter", "'limit = 8' is no declared parameter"),
        ("wrong_default", "'limit' must be int, not str '8'"), ("is_not_there", "no such notebook"),
    ],
)  # fmt: skip
def test_a_notebook_without_a_proper_parameters_cell_is_refused(notebook, fault):
    with pytest.raises(BadNotebook, match=f"{fault}.*{notebook}.ipynb"):
        declared(NOTEBOOKS / f"{notebook}.ipynb")


@pytest.mark.parametrize("text", ["", "{}", "[1]", "not json", '{"cells": []}'])
def test_a_file_that_is_no_notebook_is_refused_by_name(tmp_path, text):
    (tmp_path / "book.ipynb").write_text(text)
    with pytest.raises(BadNotebook, match="book.ipynb"):
        declared(tmp_path / "book.ipynb")


def test_an_unknown_annotation_is_refused():
    with pytest.raises(BadParameter, match=r"'x' is declared as 'dict\[str, int\]'"):
        bind({"x": Parameter("x", "dict[str, int]", {})}, {"x": {}})
