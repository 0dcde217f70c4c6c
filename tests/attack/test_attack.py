"""The short form of the attack: a few cases of every part; `make attack` runs them all."""

from __future__ import annotations

from pathlib import Path

import pytest

from attack.parts import PARTS


@pytest.mark.parametrize("name", PARTS)
def test_a_few_cases_of_the_attack(home: Path, tmp_path: Path, name: str) -> None:
    found = PARTS[name].run(tmp_path, PARTS[name].short)
    if found.skipped:
        pytest.skip(found.skipped)
    assert found.tried and found.failed == []
