"""The answers to a request for nodes."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta

import pytest

from determined_master.domain.pods.provisioning import (
    BACKOFF,
    MAX_TEXT,
    Answer,
    AnswerCode,
    answer_of,
    sentence,
)

AT = datetime(2026, 1, 1, 12, tzinfo=UTC)


def condition(type: str, status: str = "True", message: str = "") -> dict[str, str]:
    at = "2026-01-01T12:00:00Z"
    return {"type": type, "status": status, "message": message, "lastTransitionTime": at}


@pytest.mark.parametrize(
    ("conditions", "code"),
    [
        ([], "none"),
        ([condition("Accepted")], "accepted"),
        ([condition("Accepted", "False")], "none"),
        ([condition("Accepted"), condition("Provisioned", "False")], "retried"),
        ([condition("Accepted"), condition("Provisioned")], "provisioned"),
        ([condition("Accepted"), condition("Failed")], "failed"),
        ([condition("Failed", "False"), condition("Accepted")], "accepted"),
        ([condition("Provisioned"), condition("BookingExpired")], "expired"),
        ([condition("CapacityRevoked"), condition("Provisioned")], "revoked"),
        ([condition("BookingExpired"), condition("Failed")], "failed"),
    ],
)
def test_the_condition_that_ends_a_request_is_its_answer(conditions, code: AnswerCode) -> None:
    found = answer_of(conditions)
    assert found.code == code
    assert found.is_over is (code in ("failed", "expired", "revoked"))
    assert found.at == (None if code == "none" else AT)


def test_a_long_text_of_the_autoscaler_is_cut_to_one_line() -> None:
    found = answer_of([condition("Failed", message="no\n capacity " + "x" * 1000)])
    assert found.text.startswith("no capacity xxx")
    assert len(found.text) <= MAX_TEXT + 3


@pytest.mark.parametrize("at", ["", "yesterday", "2026-01-01T12:00:00"])
def test_a_condition_without_a_time_has_none(at: str) -> None:
    assert answer_of([{**condition("Failed"), "lastTransitionTime": at}]).at is None


def test_the_pause_doubles_up_to_an_hour() -> None:
    minutes = [BACKOFF.after(n) / timedelta(minutes=1) for n in (1, 2, 3, 6, 7, 5000)]
    assert minutes == [1, 2, 4, 32, 60, 60]


@pytest.mark.parametrize(
    ("code", "text"),
    [
        ("none", "the autoscaler has not answered yet"),
        ("accepted", "the autoscaler has accepted that, and tries to add them"),
        ("retried", "the autoscaler has no capacity now, and tries again: stock is out"),
        ("provisioned", "the autoscaler adds them"),
        (
            "failed",
            "the autoscaler could not add them: stock is out; it is asked again at 12:00:00 UTC",
        ),
        (
            "expired",
            "the autoscaler has added them, and does not reserve them any more; it is asked again "
            "at 12:00:00 UTC",
        ),
        (
            "revoked",
            "the autoscaler has taken them back: stock is out; it is asked again at 12:00:00 UTC",
        ),
    ],
)
def test_each_answer_has_a_sentence(code: AnswerCode, text: str) -> None:
    answer = Answer(code, "stock is out")
    again_at = AT if answer.is_over else None
    assert sentence(answer, again_at, for_admin=True) == text
    assert sentence(answer, again_at) == text.replace(": stock is out", "")
