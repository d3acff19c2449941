"""Cases of configurations that are refused."""

from __future__ import annotations

from typing import Any

import pytest
from tests.covers import covers
from tests.domain.config.builders import problems


def refusal(rows: str, overrides: dict[str, Any], start: str) -> Any:
    """A case: rows of the reference, what is wrong, how the line about it starts."""
    return pytest.param(overrides, start, marks=covers(rows), id=start[:60])


def check_refusal(overrides: dict[str, Any], start: str) -> None:
    """The mistake is named with its path, and no other section is blamed."""
    found = problems(**overrides)
    assert [p for p in found if p.startswith(start)], found
    section = start.partition(":")[0].partition(".")[0]
    assert {p.partition(":")[0].partition(".")[0] for p in found} == {section}
