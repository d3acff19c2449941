"""Which part of a list is shown."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from determined_master.domain.errors import InvalidArgument
from determined_master.domain.listing.paging import page_of


@pytest.mark.parametrize(
    ("offset", "limit", "start", "end"),
    [(0, 0, 0, 10), (0, 3, 0, 3), (8, 5, 8, 10), (10, 1, 10, 10), (99, 1, 10, 10), (-3, 2, 7, 9)],
)
def test_a_slice_of_ten(offset: int, limit: int, start: int, end: int) -> None:
    page = page_of(10, offset, limit)
    assert (page.start, page.end) == (start, end)
    assert (page.offset, page.limit, page.total) == (offset, limit, 10)


def test_limit_zero_is_the_lists_default_and_minus_one_all_where_it_is_taken() -> None:
    assert page_of(500, 0, 0, default_limit=100).end == 100
    assert page_of(500, 0, -1, default_limit=100, takes_minus_one=True).end == 500


@pytest.mark.parametrize(("offset", "limit"), [(-11, 1), (0, -1), (0, -2)])
def test_paths_outside_are_refused(offset: int, limit: int) -> None:
    with pytest.raises(InvalidArgument):
        page_of(10, offset, limit)


@given(st.integers(0, 50), st.integers(-60, 60), st.integers(0, 60))
def test_a_page_never_leaves_the_list(total: int, offset: int, limit: int) -> None:
    if total + offset < 0:
        return
    page = page_of(total, offset, limit)
    assert 0 <= page.start <= page.end <= total
    assert limit == 0 or page.end - page.start <= limit
