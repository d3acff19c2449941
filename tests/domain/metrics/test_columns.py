"""Columns of a block's reports: only of metrics that a chart can take from them alone."""

from __future__ import annotations

import math
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from determined_master.domain.metrics.columns import columns_of, unpack_doubles, unpack_steps
from determined_wire.bounds import MAX_STEPS

STEPS = st.one_of(st.integers(-(2**31), 2**31 - 1), st.integers(-MAX_STEPS, MAX_STEPS))
numbers = st.one_of(st.floats(), st.integers(-(2**70), 2**70))
values = st.one_of(numbers, st.none(), st.booleans(), st.text(max_size=2), st.just(10**400))
reports = st.lists(
    st.tuples(
        STEPS,
        st.floats(0, 1e10),
        st.dictionaries(st.sampled_from("abc"), values),
    ),
    min_size=1,
    max_size=12,
)


def is_finite(value: Any) -> bool:
    if type(value) not in (int, float) or abs(value) >= 2**1024:
        return False
    return math.isfinite(value)


@pytest.mark.slow
@given(reports)
def test_columns_have_each_finite_number_of_the_metrics_that_all_reports_have(
    of_group: list[tuple[int, float, dict[str, Any]]],
) -> None:
    columns = columns_of(of_group)
    steps, times, metrics = zip(*of_group, strict=True)
    assert unpack_steps(columns.steps, min(steps), max(steps)) == steps
    assert unpack_doubles(columns.at) == times
    assert columns[:4] == (min(steps), max(steps), min(times), max(times))
    plain = {n for n in "abc" if all(is_finite(one.get(n)) for one in metrics)}
    assert set(columns.values) == plain
    for name in plain:
        assert unpack_doubles(columns.values[name]) == tuple(float(m[name]) for m in metrics)


@pytest.mark.parametrize("value", [True, "1", None, math.nan, math.inf, 10**400])
def test_other_values_keep_a_metric_out(value: Any) -> None:
    assert columns_of([(1, 2.0, {"loss": 1}), (2, 3.0, {"loss": value})]).values == {}
