"""What a request is told when the database refuses what it was asked to store."""

import asyncpg

from determined_master.store.constraint_errors import refusal_of, shortage_of


def test_a_full_disk_is_logged_in_one_line_with_the_remedy() -> None:
    error = asyncpg.DiskFullError("could not extend file: No space left on device")
    error.hint = "Check free disk space."
    assert "\n" in str(error)
    assert str(shortage_of(error)) == (
        "the database has no room (could not extend file: No space left on device): free some "
        "space on its disk; the same request can then be sent again"
    )


def test_other_errors_are_no_shortage() -> None:
    assert shortage_of(asyncpg.UniqueViolationError("taken")) is None


def test_a_bad_regular_expression_is_reported() -> None:
    error = asyncpg.InvalidRegularExpressionError("invalid regular expression: parentheses ()")
    assert str(refusal_of(error)).startswith(
        "the regular expression to search by cannot be used (invalid regular expression: "
    )


def test_a_nul_in_a_text_is_reported() -> None:
    error = asyncpg.CharacterNotInRepertoireError("invalid byte sequence: 0x00")
    assert str(refusal_of(error)).startswith("a text of the request has a NUL character")
