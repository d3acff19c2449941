"""Causes: why an event is posted. The journal applies one cause to one aggregate once.

`str(cause)` is stored; its form never changes, since a repeated event is recognised by it.
"""

from __future__ import annotations

from dataclasses import dataclass
from uuid import UUID

from determined_master.engine.ids import EffectId


@dataclass(frozen=True, slots=True)
class OnlyOnce:
    """Happens to an aggregate once in its life, such as its creation."""

    name: str

    def __str__(self) -> str:
        return self.name


@dataclass(frozen=True, slots=True)
class UserRequest:
    """A user asks for it; each request is a cause of its own."""

    user_id: int
    request_id: UUID

    def __str__(self) -> str:
        return f"request:{self.user_id}:{self.request_id}"


@dataclass(frozen=True, slots=True)
class Occurrence:
    """Something that happens again and again; `key` separates one occurrence from the next."""

    subject: str
    key: object

    def __str__(self) -> str:
        return f"{self.subject}:{self.key}"


@dataclass(frozen=True, slots=True)
class CarriedOut:
    """The outcome of an effect: the same at every attempt. `part` separates several."""

    effect: EffectId
    part: str = ""

    def __str__(self) -> str:
        return f"effect:{self.effect}:{self.part}" if self.part else f"effect:{self.effect}"


@dataclass(frozen=True, slots=True)
class GaveUp:
    """An effect failed for the last time."""

    effect: EffectId

    def __str__(self) -> str:
        return f"failed:{self.effect}"


@dataclass(frozen=True, slots=True)
class TimerFired:
    """A timer that the aggregate set at `version` is due."""

    name: str
    version: int

    def __str__(self) -> str:
        return f"timer:{self.name}:{self.version}"


@dataclass(frozen=True, slots=True)
class AgentReported:
    """A message of an agent; `boot_id` and `number` identify it among the agent's messages."""

    agent_id: str
    boot_id: str
    number: int

    def __str__(self) -> str:
        return f"agent:{self.agent_id}:{self.boot_id}:{self.number}"


@dataclass(frozen=True, slots=True)
class FoundEnded:
    """An agent that joins lists a container that ended while it was away."""

    agent_id: str
    container_id: str

    def __str__(self) -> str:
        return f"agent:{self.agent_id}:ended:{self.container_id}"


@dataclass(frozen=True, slots=True)
class LogPolicyMatched:
    """A log policy of a task matched a line of an agent, for the first time there."""

    policy: int
    task_id: str
    agent_id: str

    def __str__(self) -> str:
        return f"log policy {self.policy} of {self.task_id} on {self.agent_id}"


Cause = (
    OnlyOnce
    | UserRequest
    | Occurrence
    | CarriedOut
    | GaveUp
    | TimerFired
    | AgentReported
    | FoundEnded
    | LogPolicyMatched
)
