"""Tables for terminals: their width, and whole words where possible."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from determined.cli.output.fitted_table import draw, width_of, wrap

UUID = "971320ae-1530-4ff1-810f-6c9711460122"
LIST = [
    "ID",
    "Owner",
    "Name",
    "Parent ID",
    "State",
    "Progress",
    "Started",
    "Ended",
    "Resource Pool",
]
AT = "2026-11-21 11:53:49+0000"
ROW = [
    1205,
    "admin",
    "Experiment (calmly-golden-otter)",
    None,
    "COMPLETED",
    "100.0%",
    AT,
    AT,
    "default",
]


def test_a_table_that_fits_is_not_widened() -> None:
    assert draw(["ID", "Name"], [[1, "a"], [22, "bc"]], 80).splitlines() == [
        "ID  Name",
        "--  ----",
        " 1  a",
        "22  bc",
    ]


def test_experiments_fit_in_80_columns() -> None:
    lines = draw(LIST, [ROW], 80).splitlines()
    assert max(map(len, lines)) <= 80
    assert "Started" in lines[0]
    for word in ("COMPLETED", "100.0%", "2026-11-21", "11:53:49", "Experiment"):
        assert any(word in line for line in lines), word
    assert "(UTC)" in lines[1]


def test_a_uuid_is_not_cut_if_a_list_can_hold_it() -> None:
    headers = ["Trial ID", "# of Batches", "State", "Validation Metric", "UUID", "Size"]
    drawn = draw(headers, [[5, 3, "COMPLETED", 0.25, UUID, "11.0B"]], 60)
    assert f"UUID               {UUID}" in drawn.splitlines()


def test_a_list_separates_its_rows() -> None:
    assert draw(["Name", "Description"], [["a" * 9, "b" * 9], ["c", ""]], 18).splitlines() == [
        "Name       aaaaaaa",
        "           aa",
        "Descripti  bbbbbbb",
        "           bb",
        "",
        "Name       c",
    ]


def test_empty_columns_are_dropped_if_space_is_short() -> None:
    drawn = draw(["Name", "Agent User"], [["a" * 12, None]], 16)
    assert drawn.splitlines()[0] == "Name"
    assert "Agent User" in draw(["Name", "Agent User"], [["a" * 12, None]], 80)


def test_a_block_of_lines_is_not_broken() -> None:
    block = '{\n    "quality": 7\n}'
    assert '    "quality": 7' in draw(["H-Params", "Name"], [[block, "a long name"]], 22)


def test_a_name_cannot_move_the_cursor() -> None:
    assert "\x1b" not in draw(["Name"], [["a\x1b[2Jb"]], 80)


def test_wide_characters_take_two_columns() -> None:
    assert width_of("模型") == 4
    assert draw(["Name", "ID"], [["模型", 1]], 80).splitlines()[-1] == "模型   1"


def test_lines_are_broken_between_words() -> None:
    assert wrap("one two-three four", 8) == ["one two-", "three", "four"]


@pytest.mark.parametrize("is_styled", [True, False])
def test_headers_are_bold_on_a_capable_terminal(is_styled: bool) -> None:
    assert ("\x1b[1m" in draw(["ID"], [[1]], 80, is_styled)) is is_styled


@given(
    st.lists(
        st.lists(st.text("ab模 -/\n", max_size=30), min_size=3, max_size=3), min_size=1, max_size=3
    ),
    st.integers(16, 60),
)
def test_no_line_is_wider_than_the_terminal_and_nothing_is_lost(
    rows: list[list[str]], width: int
) -> None:
    drawn = draw(["x", "y", "z"], rows, width)
    assert all(width_of(line) <= width for line in drawn.splitlines())
    for letter in "ab模":
        wanted = sum(cell.count(letter) for row in rows for cell in row)
        assert drawn.count(letter) == wanted
