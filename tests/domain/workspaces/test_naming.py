"""Names of workspaces and projects, and keys."""

from __future__ import annotations

import pytest

from determined_master.domain.errors import InvalidArgument
from determined_master.domain.workspaces.naming import (
    check_key,
    check_project_name,
    check_workspace_name,
    generated_key,
)


@pytest.mark.parametrize("name", ["", "  ", "x" * 81])
def test_a_workspace_name_has_1_to_80_characters(name: str) -> None:
    with pytest.raises(InvalidArgument, match="character"):
        check_workspace_name(name)
    assert check_workspace_name("x" * 80) == "x" * 80


def test_a_blank_project_name_is_refused() -> None:
    with pytest.raises(InvalidArgument, match="visible"):
        check_project_name(" ")


def test_a_key_is_capitals_and_has_at_most_five() -> None:
    assert check_key("wk1") == "WK1"
    for key in ("", "abcdef", "a b", "ä"):
        with pytest.raises(InvalidArgument, match=r"1 to 5"):
            check_key(key)


@pytest.mark.parametrize(
    ("name", "expected"), [("vision", "VISQR"), ("a-1", "A1QRS"), ("é", "QRSTU")]
)
def test_a_made_up_key_begins_like_the_name(name: str, expected: str) -> None:
    assert generated_key(name, "QRSTU") == expected
