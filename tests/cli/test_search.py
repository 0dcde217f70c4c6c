"""`workbench search`: an empty answer that no text could fill is a fault of the filter, and said."""

from __future__ import annotations

import pytest


@pytest.mark.parametrize(
    ("pair", "code", "said"),
    [
        ("foo=bar", 2, "no row has a field 'foo'. There are: entity_id, source_type, project"),
        ("created=abc", 2, "'abc' is no date or time (the filter of created)"),
        ("created=2020-01-01", 0, "No results."), ("project=none", 0, "No results."), ("foo=", 0, "ferry"),
    ],
)  # fmt: skip
def test_a_filter_that_no_row_could_meet_is_named(tiny, run, pair, code, said):
    ended, out, err = run("search", tiny, "ferry", "--filter", pair)
    assert ended == code and said in (err if code else out) and (err.count("\n") == 1) == bool(code)
