"""A name means one point or is refused with what it could mean."""

import pytest

from workbench.analysis.explain.targets import (
    NEAREST,
    SHOWN,
    AmbiguousTarget,
    NoSuchTarget,
    resolve,
)
from workbench.retrieval.search import open_collection
from workbench.sources.base import Source
from workbench.stores.load import load
from workbench.types import Chunk


@pytest.fixture(scope="module")
def shelf(tmp_path_factory):
    """Two books of two chunks with one title each, one of a title shared, and an entity whose id is a point's."""
    rows = [
        (1, "a", 0, "The sea", "waves"), (2, "a", 1, "The sea", "waves and wind"), (3, "b", 0, "The land", "wind"),
        (4, "c", 0, "The land", "sand"), (5, "3", 0, "Numbered <b>", "three"),
        *((n, f"many{n}", 0, "Many", "stone") for n in range(10, 22)),
        ("00000000-0000-0000-0000-00000000000a", "d", 0, "Uuid", "wind"),
    ]  # fmt: skip
    chunks = [Chunk(i, entity, n, text, title=title) for i, entity, n, title, text in rows]
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("WORKBENCH_HOME", str(tmp_path_factory.mktemp("shelf")))
        load(Source("test", "test", {}, lambda: iter(chunks)), name="shelf", progress=False)
        with open_collection("shelf") as collection:
            yield collection


@pytest.mark.parametrize(
    ("text", "found"),
    [("2", 2), ("point:3", 3), ("entity:3", 5), ("b", 3), ("entity:c", 4), ("title:Uuid", "00000000-0000-0000-0000-00000000000a"),
     ("Numbered <b>", 5), ("00000000-0000-0000-0000-00000000000A", "00000000-0000-0000-0000-00000000000a")],
)  # fmt: skip
def test_one_fitting_point_is_meant(shelf, text, found):
    assert resolve(shelf, text) == found


@pytest.mark.parametrize(("text", "listed"), [("3", ("point:3", "point:5")), ("The land", ("point:3", "point:4")), ("a", ("point:1", "point:2"))])
def test_several_fitting_points_are_listed(shelf, text, listed):
    with pytest.raises(AmbiguousTarget) as error:
        resolve(shelf, text)
    assert all(f"{point} (" in str(error.value) for point in listed)


def test_many_fitting_points_are_listed_in_part(shelf):
    with pytest.raises(AmbiguousTarget, match="and more") as error:
        resolve(shelf, "Many")
    assert str(error.value).count("point:") == SHOWN


def test_of_an_entitys_chunks_the_best_ranked_is_meant_where_a_result_is_given(shelf):
    result = shelf.search("wind")
    assert resolve(shelf, "a", result) == min((1, 2), key=result.rank_of)
    assert resolve(shelf, "a", shelf.search("")) == 1
    with pytest.raises(AmbiguousTarget):
        resolve(shelf, "The land", result)


@pytest.mark.parametrize("text", ["sea", "THE SEA", "title:the se"])
def test_what_is_near_is_named(shelf, text):
    with pytest.raises(NoSuchTarget, match="Near it: point:1"):
        resolve(shelf, text)


@pytest.mark.parametrize("text", ["", "99", "nothing like it", "point:", "\ud800", "%' OR 1=1 --", "title:"])
def test_nothing_is_an_error_and_never_a_guess(shelf, text):
    with pytest.raises(NoSuchTarget):
        resolve(shelf, text)


@pytest.mark.parametrize(("text", "meant"), [("The sae", "point:1"), ("mamy7", "point:"), ("Numbred", "point:5")])
def test_of_a_name_that_nothing_holds_the_three_spelled_most_like_it_are_offered(shelf, text, meant):
    with pytest.raises(NoSuchTarget, match="Near it") as error:
        resolve(shelf, text)
    offered = str(error.value).split("Near it: ")[1]
    assert offered.startswith(meant) and offered.count("point:") == NEAREST
