"""An error names what a person wrote and would write, never a name of the code; numbers agree with their words."""

from __future__ import annotations

import pytest

from workbench.analysis.replay.query_log import Logged
from workbench.analysis.replay.replay import Change
from workbench.errors import WorkbenchError
from workbench.matching.cassettes import request_of
from workbench.matching.formats.wire import NotUnderstood
from workbench.matching.similarity import GATES, broken_words
from workbench.reporting.pages.replay import came_and_left
from workbench.sources.readers import open_source
from workbench.text import counted


def test_what_is_to_be_mapped_is_told_as_the_option_that_maps_it(tmp_path):
    (tmp_path / "n.md").write_text("# A\nb\n")
    (tmp_path / "t.csv").write_text("a,b\n1,2\n")
    with pytest.raises(WorkbenchError, match="markdown has no columns to map.*Leave out --map"):
        open_source(tmp_path / "n.md", columns=["text=Foo"])
    with pytest.raises(WorkbenchError, match="Map them: --map id=COLUMN --map text=COLUMN"):
        open_source(tmp_path / "t.csv")
    with pytest.raises(WorkbenchError, match="Give -p table_format=jsonl"):
        open_source(tmp_path / "n.md", kind="table")


def test_a_body_that_is_no_request_is_told_by_what_it_lacks():
    with pytest.raises(NotUnderstood, match="^the request has no `messages`"):
        request_of({"foo": 1})
    assert broken_words(("same_order", "same_marks")) == "order of words, marks"
    assert not any("_" in broken_words((name,)) for name in GATES)


def test_numbers_agree_with_their_words():
    assert [counted(n, "loss", "losses") for n in (0, 1, 1000)] == ["0 losses", "1 loss", "1,000 losses"]
    assert counted(1, "row stands", "rows stand") == "1 row stands"

    def change(left, came):
        return Change(Logged(1, "q"), "a", "b", ((), ()), 0.0, 0.0, 1, left, came)

    assert [came_and_left(change(*of)) for of in (((), ("x", "y")), (("x",), ()), ((), ()))] == ["2 came", "1 left", "another order"]
