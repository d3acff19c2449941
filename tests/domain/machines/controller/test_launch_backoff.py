"""When failures to start machines count (scheduling and provisioning, c.6)."""

from __future__ import annotations

from datetime import timedelta

from tests.covers import covers
from tests.domain.builders import T0

from determined_master.domain.machines.controller.launch_backoff import (
    LaunchErrors,
    LaunchRetryPolicy,
    note_failure,
    pause_after,
    standing_failure,
)

E = "scheduling-and-provisioning"
SECOND = timedelta(seconds=1)
SOON = LaunchRetryPolicy(timeout=60 * SECOND, retries=2)


def failures(*at_s: int, patience: LaunchRetryPolicy = SOON) -> LaunchErrors | None:
    """What is noted of failures at these seconds."""
    noted = None
    for second in at_s:
        noted = note_failure(noted, f"at {second}", patience, T0 + second * SECOND)
    return noted


def test_tries_come_less_and_less_often_and_soon_enough_to_be_in_a_row() -> None:
    pauses = [pause_after(n, LaunchRetryPolicy()).total_seconds() for n in range(1, 7)]
    assert pauses == [5, 10, 20, 40, 60, 60]
    assert pause_after(5000, LaunchRetryPolicy()) == 60 * SECOND
    assert pause_after(5, SOON) == 30 * SECOND
    noted, now = None, T0
    for number in range(1, 4):
        noted = note_failure(noted, "no room", SOON, now)
        now += pause_after(number, SOON)
    assert standing_failure(noted, SOON, now) == "no room"


@covers(f"{E} c.6.retries")
def test_a_failure_counts_after_its_retries_until_it_is_old() -> None:
    assert standing_failure(None, SOON, T0) is None
    assert standing_failure(failures(0), SOON, T0) is None
    assert standing_failure(failures(0, 5), SOON, T0 + 5 * SECOND) is None
    third = failures(0, 5, 10)
    assert standing_failure(third, SOON, T0 + 10 * SECOND) == "at 10"
    assert standing_failure(third, SOON, T0 + 70 * SECOND) == "at 10"
    assert standing_failure(third, SOON, T0 + 71 * SECOND) is None


@covers(f"{E} c.6.repeats")
def test_a_late_failure_is_the_first_again() -> None:
    assert failures(0, 60, 120) == LaunchErrors("at 120", T0 + 120 * SECOND, repeats=2)
    assert failures(0, 5, 66) == LaunchErrors("at 66", T0 + 66 * SECOND, repeats=0)


@covers(f"{E} c.6.retries")
def test_without_retries_the_first_counts() -> None:
    patience = LaunchRetryPolicy(timeout=60 * SECOND)
    assert standing_failure(failures(0, patience=patience), patience, T0) == "at 0"


@covers(f"{E} c.6.never")
def test_without_a_timeout_none_ever_counts() -> None:
    patience = LaunchRetryPolicy(timeout=timedelta(0))
    noted = failures(0, 0, 0, patience=patience)
    assert noted == LaunchErrors("at 0", T0)
    assert standing_failure(noted, patience, T0) is None
