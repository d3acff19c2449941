"""Extremes of parts, and of parts together."""

from __future__ import annotations

import math
import random

from determined_master.domain.metrics.extremes import (
    Extremes,
    extremes_of,
    joined,
    thinned,
)


def test_each_part_keeps_its_lowest_and_highest_with_their_steps() -> None:
    reports = [(n, {"loss": value}) for n, value in enumerate([3, 1, 2, 9.5, 7, 8])]
    assert extremes_of(reports, 3) == {
        "loss": [Extremes(1, 3, 1, 0), Extremes(7, 9.5, 4, 3)],
    }


def test_values_that_are_no_numbers_are_skipped_and_infinities_are_extremes() -> None:
    values = ["NaN", True, None, "text", {"a": 1}, "Infinity", "-Infinity", 1, 10**400]
    found = extremes_of([(n, {"m": value, "s": "x"}) for n, value in enumerate(values)])
    assert found == {"m": [Extremes(-math.inf, math.inf, 6, 5)]}


def test_thinning_keeps_the_extremes_of_each_bucket_whatever_the_parts() -> None:
    draw = random.Random(5)
    values = [draw.random() for _ in range(5000)]
    parts = extremes_of([(n, {"m": v}) for n, v in enumerate(values)], 16)["m"]
    for buckets in (1, 7, 100, 313, 1000):
        steps = thinned(parts, buckets)
        assert len(steps) <= 2 * buckets
        assert {values.index(min(values)), values.index(max(values))} <= steps


def test_of_equal_values_the_first_is_kept() -> None:
    parts = [Extremes(1, 2, 5, 6), Extremes(1, 2, 7, 8)]
    assert joined(parts) == Extremes(1, 2, 5, 6)
