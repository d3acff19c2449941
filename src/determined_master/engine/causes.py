"""Causes: why an event is posted. The journal applies one cause to one aggregate once.

`str(cause)` is stored. Its form never changes, since it identifies repeated events.
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
    """A user's request; each request is a cause of its own."""

    user_id: int
    request_id: UUID

    def __str__(self) -> str:
        return f"request:{self.user_id}:{self.request_id}"


@dataclass(frozen=True, slots=True)
class Occurrence:
    """An occurrence of a repeated event; `key` identifies the occurrence."""

    subject: str
    key: object

    def __str__(self) -> str:
        return f"{self.subject}:{self.key}"


@dataclass(frozen=True, slots=True)
class CarriedOut:
    """The outcome of an effect: the same at every attempt. `part` distinguishes several."""

    effect: EffectId
    part: str = ""

    def __str__(self) -> str:
        return f"effect:{self.effect}:{self.part}" if self.part else f"effect:{self.effect}"


@dataclass(frozen=True, slots=True)
class GaveUp:
    """The last attempt of an effect failed."""

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
    agent_id: str
    boot_id: str
    number: int

    def __str__(self) -> str:
        return f"agent:{self.agent_id}:{self.boot_id}:{self.number}"


@dataclass(frozen=True, slots=True)
class FoundEnded:
    """An agent that joins reports a container that ended while it was disconnected."""

    agent_id: str
    container_id: str

    def __str__(self) -> str:
        return f"agent:{self.agent_id}:ended:{self.container_id}"


@dataclass(frozen=True, slots=True)
class LogPolicyMatched:
    """A log policy of a task matched a line, for the first time in the task or on an agent."""

    policy: int
    task_id: str
    agent_id: str
    """Empty where it does not matter which agent it was."""

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
