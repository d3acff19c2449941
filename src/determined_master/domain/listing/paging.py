"""Paging: one rule for every list."""

from __future__ import annotations

import msgspec

from determined_master.domain.errors import InvalidArgument


class Page(msgspec.Struct, frozen=True):
    """A slice `[start, end)` of `total` items, and the request for it."""

    offset: int
    limit: int
    start: int
    end: int
    total: int


def page_of(
    total: int, offset: int, limit: int, *, default_limit: int = 0, takes_minus_one: bool = False
) -> Page:
    """Decide which items a page has.

    A negative offset counts from the end; one beyond the end gives an empty page. Limit 0 is
    the list's own default, and -1 everything where the list accepts it.

    Args:
        total: number of all matches.
        default_limit: what limit 0 means; 0 for everything.

    Raises:
        InvalidArgument: a negative limit, or an offset before the first item.
    """
    if limit < (-1 if takes_minus_one else 0):
        lowest = "-1 (everything), 0 (the default)" if takes_minus_one else "0 (the default)"
        raise InvalidArgument(f"limit is {limit}: it must be {lowest} or more")
    start = offset if offset >= 0 else total + offset
    if start < 0:
        raise InvalidArgument(f"offset out of bounds: {offset} of {total} items")
    start = min(start, total)
    length = limit if limit > 0 else total if limit < 0 else default_limit or total
    return Page(offset, limit, start, min(start + length, total), total)
