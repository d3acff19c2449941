"""A cluster's answer to a request for nodes (`ProvisioningRequest`), and when it is asked again.

Cluster Autoscaler writes its answer as conditions. A request that has ended is not tried again by
it: to ask again is to make another request. Source: Kubernetes' `autoscaling.x-k8s.io/v1`.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from datetime import datetime, timedelta
from typing import Any, Literal

import msgspec

from determined_wire.backoff import Backoff

AnswerCode = Literal["none", "accepted", "retried", "provisioned", "failed", "expired", "revoked"]
"""`none`: no answer yet. `retried`: there is no capacity now, and the autoscaler tries again.
`expired`: the nodes came, and are reserved no more. `revoked`: the nodes are no longer valid."""
BACKOFF = Backoff(timedelta(minutes=1), timedelta(hours=1))
"""From the end of a request to the next one: a cloud without capacity is asked less and less."""
MAX_TEXT = 300
"""Characters of the autoscaler's text that are shown."""
_ENDS: tuple[tuple[str, AnswerCode], ...] = (
    ("Failed", "failed"),
    ("CapacityRevoked", "revoked"),
    ("BookingExpired", "expired"),
)
"""Conditions that end a request, the strongest first."""
_SENTENCES: Mapping[AnswerCode, str] = {
    "none": "has not answered yet",
    "accepted": "has accepted that, and tries to add them",
    "retried": "has no capacity now, and tries again",
    "provisioned": "adds them",
    "failed": "could not add them",
    "expired": "has added them, and does not reserve them any more",
    "revoked": "has taken them back",
}
_WITH_TEXT = frozenset({"retried", "failed", "revoked"})
"""Answers to which the autoscaler's own words add a reason."""


class Answer(msgspec.Struct, frozen=True):
    """The autoscaler's answer to one request."""

    code: AnswerCode = "none"
    text: str = ""
    """In the autoscaler's words."""
    at: datetime | None = None
    """When it was given (UTC)."""

    @property
    def is_over(self) -> bool:
        """Whether nothing more comes of the request."""
        return self.code in ("failed", "expired", "revoked")


def answer_of(conditions: Iterable[Mapping[str, Any]]) -> Answer:
    """The answer in a request's conditions.

    A condition that ends the request counts more than those that came before it, which stay.
    """
    known = {str(c.get("type")): c for c in conditions}
    for name, code in _ENDS:
        if _is(known.get(name), "True"):
            return _answer(code, known[name])
    provisioned = known.get("Provisioned")
    if _is(provisioned, "True"):
        return _answer("provisioned", known["Provisioned"])
    if _is(provisioned, "False"):
        return _answer("retried", known["Provisioned"])
    if _is(known.get("Accepted"), "True"):
        return _answer("accepted", known["Accepted"])
    return Answer()


def sentence(answer: Answer, again_at: datetime | None = None, *, for_admin: bool = False) -> str:
    """An answer for users who wait.

    Args:
        answer: of the autoscaler.
        again_at: when the cluster is asked again (UTC), for an answer that ends the request.
        for_admin: with the autoscaler's own words, which may describe the cloud account.
    """
    text = f"the autoscaler {_SENTENCES[answer.code]}"
    if answer.code in _WITH_TEXT and answer.text and for_admin:
        text = f"{text}: {answer.text}"
    if answer.is_over and again_at:
        text = f"{text}; it is asked again at {again_at:%H:%M:%S} UTC"
    return text


def _is(condition: Mapping[str, Any] | None, status: str) -> bool:
    return condition is not None and condition.get("status") == status


def _answer(code: AnswerCode, condition: Mapping[str, Any]) -> Answer:
    text = " ".join(str(condition.get("message") or condition.get("reason") or "").split())
    if len(text) > MAX_TEXT:
        text = f"{text[:MAX_TEXT]}..."
    return Answer(code, text.rstrip("."), _instant(condition.get("lastTransitionTime")))


def _instant(text: Any) -> datetime | None:
    try:
        found = datetime.fromisoformat(str(text).replace("Z", "+00:00")) if text else None
    except ValueError:
        return None
    return found if found is not None and found.tzinfo is not None else None
