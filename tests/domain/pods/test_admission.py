"""The state of a gang in the cluster's own queue."""

from __future__ import annotations

import pytest

from determined_master.domain.pods.admission import MAX_TEXT, kueue_wait, scheduler_wait, short

W = "waits in kueue's LocalQueue 'lab'"


def condition(type: str, status: str, message: str = "") -> dict[str, str]:
    return {"type": type, "status": status, "message": message}


PENDING = condition("QuotaReserved", "False", "insufficient unused quota for cpu")


@pytest.mark.parametrize(
    ("conditions", "text"),
    [
        (None, f"{W}, and kueue has made no Workload for it that the master can see"),
        ([], W),
        ([PENDING], f"{W}: insufficient unused quota for cpu"),
        (
            [condition("QuotaReserved", "True")],
            f"{W}: quota is reserved, and admission checks are not finished",
        ),
        (
            [condition("QuotaReserved", "True"), condition("Admitted", "True")],
            "kueue has admitted it, and its pods start",
        ),
        (
            [PENDING, condition("Evicted", "True", "preempted to make room")],
            f"{W}: kueue has evicted it: preempted to make room",
        ),
        ([{"type": "QuotaReserved", "status": "False", "reason": "Pending"}], f"{W}: Pending"),
    ],
)
def test_the_state_in_kueue_is_that_of_the_strongest_condition(conditions, text: str) -> None:
    assert kueue_wait("lab", conditions) == text


def test_the_words_of_a_scheduler_are_shown() -> None:
    assert scheduler_wait("coscheduler", "") == (
        "waits for Kubernetes' scheduler 'coscheduler', which has not answered yet"
    )
    assert scheduler_wait("coscheduler", "0/2 nodes\n fit") == (
        "waits for Kubernetes' scheduler 'coscheduler': 0/2 nodes fit"
    )


def test_long_texts_are_cut() -> None:
    assert short("x" * 1000) == "x" * MAX_TEXT + "..."
    assert short("x" * MAX_TEXT) == "x" * MAX_TEXT
