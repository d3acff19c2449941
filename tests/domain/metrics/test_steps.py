"""Packed rows hold steps of the whole range, and take no more room where 32 bits are enough."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from determined_master.domain.metrics.charts import (
    Charted,
    Part,
    Unusual,
    charts_of,
    pack_parts,
    pack_unusual,
    unpack_extremes,
    unpack_parts,
    unpack_unusual,
)
from determined_master.domain.metrics.extremes import Extremes, extremes_of, joined
from determined_master.domain.metrics.steps import step_code
from determined_wire.bounds import MAX_STEPS

LOW, HIGH = -(2**31), 2**31 - 1
STEPS = st.one_of(st.integers(LOW, HIGH), st.integers(-MAX_STEPS, MAX_STEPS))
VALUES = st.floats()
REPORTS = st.lists(
    st.tuples(STEPS, st.floats(0, 1e10), st.fixed_dictionaries({"loss": VALUES})),
    min_size=1,
    max_size=80,
)


@pytest.mark.parametrize(
    ("first", "last", "code"),
    [
        (LOW, HIGH, "i"),
        (0, HIGH + 1, "q"),
        (LOW - 1, 0, "q"),
        (MAX_STEPS, MAX_STEPS, "q"),
    ],
)
def test_steps_have_32_bits_where_all_of_a_row_fit(first: int, last: int, code: str) -> None:
    assert step_code(first, last) == code


@pytest.mark.slow
@given(REPORTS)
def test_packed_parts_of_a_block_are_read_as_they_were(
    reports: list[tuple[int, float, dict[str, float]]],
) -> None:
    chart: Charted = charts_of(reports)["loss"]
    code = step_code(chart.first_steps, chart.last_steps)
    packed = pack_parts(chart.parts, code)
    assert [Part(*one) for one in unpack_parts(packed, code)] == chart.parts
    extremes = [Extremes(p.low, p.high, p.low_steps, p.high_steps) for p in chart.parts]
    assert list(unpack_extremes(packed, code)) == extremes
    packed = pack_unusual(chart.unusual, code)
    assert list(unpack_unusual(packed, code)) == chart.unusual


@pytest.mark.slow
@given(REPORTS)
def test_the_extremes_of_a_block_are_those_of_its_reports(
    reports: list[tuple[int, float, dict[str, float]]],
) -> None:
    parts = extremes_of([(n, values) for n, _, values in reports]).get("loss")
    extremes = charts_of(reports)["loss"].extremes
    assert (extremes is None) == (parts is None)
    if extremes is not None and parts is not None:
        of_all = joined(parts)
        assert (extremes.low, extremes.high) == (of_all.low, of_all.high)
        values = {(steps, of_report["loss"]) for steps, _, of_report in reports}
        assert {(extremes.low_steps, extremes.low), (extremes.high_steps, extremes.high)} <= values


def test_rows_of_small_steps_are_packed_with_32_bits() -> None:
    unusual = pack_unusual([Unusual(2, 1.0, 0)], "i")
    assert unusual.hex() == "02000000000000000000f03f00"
    part = pack_parts([Part(1, HIGH, 2, 0.5, 2.0, 2.0, 1.0, 1.0, 1, HIGH)], "i")
    assert part.hex() == (
        "01000000ffffff7f02000000000000000000e03f00000000000000400000000000000040"
        "000000000000f03f000000000000f03f01000000ffffff7f"
    )
