"""Exponential back-off, of the servers and of the client."""

from __future__ import annotations

from datetime import timedelta
from itertools import islice, pairwise
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from determined.common import _backoff
from determined_wire import backoff

FORMS = pytest.mark.parametrize("form", [backoff.Backoff, _backoff.Backoff])
SECONDS = st.floats(0.001, 1000.0)


@FORMS
@given(first=SECONDS, longest=SECONDS, failures=st.integers(-3, 10**12))
def test_a_pause_is_twice_the_one_before_and_at_most_the_longest(
    form: Any, first: float, longest: float, failures: int
) -> None:
    subject = form(first, longest)
    assert 0 < subject.after(failures) <= longest
    assert subject.after(1) == min(first, longest)
    assert subject.after(failures + 1) in (
        subject.after(failures),
        2 * subject.after(failures),
        longest,
    )


@FORMS
def test_pauses_are_those_after_each_failure(form: Any) -> None:
    assert list(islice(form(0.5, 3.0).pauses(), 5)) == [0.5, 1.0, 2.0, 3.0, 3.0]
    assert list(islice(form(0.0, 0.0).pauses(), 2)) == [0.0, 0.0]


@given(failures=st.integers(1, 10**12), random=st.floats(0, 1), jitter=st.floats(0, 1))
def test_a_jitter_takes_a_part_of_the_pause(failures: int, random: float, jitter: float) -> None:
    whole = backoff.Backoff(0.1, 10.0).after(failures)
    pause = backoff.Backoff(0.1, 10.0, jitter).after(failures, random)
    assert whole * (1 - jitter) <= pause * (1 + 1e-9)
    assert pause <= whole * (1 + 1e-9)
    assert backoff.Backoff(0.1, 10.0, jitter).after(failures) == pytest.approx(whole)


def test_pauses_of_time_are_bounded_after_any_number_of_failures() -> None:
    subject = backoff.Backoff(timedelta(minutes=1), timedelta(hours=1))
    pauses = [subject.after(n) for n in (1, 2, 3, 6, 7, 10**9)]
    assert [p / timedelta(minutes=1) for p in pauses] == [1, 2, 4, 32, 60, 60]
    assert all(a <= b for a, b in pairwise(pauses))
