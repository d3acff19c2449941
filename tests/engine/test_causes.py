"""Stored forms of causes: the journal recognises a repeated event by them."""

from uuid import UUID

import pytest

from determined_master.engine import causes
from determined_master.engine.ids import EffectId

EFFECT = EffectId("trial", "7", 3, 0)
REQUEST = UUID("01234567-89ab-cdef-0123-456789abcdef")


@pytest.mark.parametrize(
    ("cause", "stored"),
    [
        (causes.OnlyOnce("created"), "created"),
        (causes.UserRequest(2, REQUEST), f"request:2:{REQUEST}"),
        (causes.Occurrence("plan", REQUEST), f"plan:{REQUEST}"),
        (causes.CarriedOut(EFFECT), "effect:trial/7/3/0"),
        (causes.CarriedOut(EFFECT, "room"), "effect:trial/7/3/0:room"),
        (causes.GaveUp(EFFECT), "failed:trial/7/3/0"),
        (causes.TimerFired("kill", 4), "timer:kill:4"),
        (causes.AgentReported("a", "boot", 5), "agent:a:boot:5"),
        (causes.FoundEnded("a", "c"), "agent:a:ended:c"),
        (causes.LogPolicyMatched(0, "1.x", "a"), "log policy 0 of 1.x on a"),
    ],
)
def test_the_stored_form_of_a_cause_never_changes(cause: causes.Cause, stored: str) -> None:
    assert str(cause) == stored
