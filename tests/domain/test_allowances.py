"""How much one user may store."""

from __future__ import annotations

import pytest

from determined_master.domain.allowances import ALLOWANCES, MIB, Allowance
from determined_master.domain.errors import ResourceExhausted

BOARDS = Allowance("boards", 2, 100)


def test_a_user_may_have_as_much_as_allowed() -> None:
    BOARDS.check(2, 100)
    BOARDS.check(0, 0)


@pytest.mark.parametrize(("count", "size_bytes"), [(3, 1), (1, 101), (3, 101)])
def test_more_is_refused_with_both_numbers(count: int, size_bytes: int) -> None:
    with pytest.raises(ResourceExhausted) as failure:
        BOARDS.check(count, size_bytes)
    assert str(failure.value) == (
        f"you would have {count} boards with {size_bytes} bytes: a user may have at most 2 with "
        "100 bytes together, delete some"
    )


def test_only_links_are_replaced_and_no_allowance_is_larger_than_16_mib() -> None:
    assert [each.things for each in ALLOWANCES if each.are_replaced] == [
        "short links of the web UI"
    ]
    assert max(each.size_bytes for each in ALLOWANCES) == 16 * MIB == 16 * 1024 * 1024
