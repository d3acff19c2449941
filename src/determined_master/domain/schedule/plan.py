"""The decisions of a scheduler, with their reasons."""

from __future__ import annotations

from typing import Literal

import msgspec

WaitCode = Literal[
    "full",
    "leaving",
    "kept",
    "behind",
    "limit",
    "share",
    "impossible",
    "resources",
    "quota",
    "handed",
    "topology",
]
"""Why a request waits.

`full`: the slots are in use. `leaving`: slots of exiting tasks are reserved for it. `kept`: agents
are drained for it, because others have passed it for too long. `behind`: a higher-priority request
waits. `limit`: its job's max_slots. `share`: its job has its fair share. `impossible`: these
agents could not hold it if they were empty. `resources`: nodes with free slots have too little
memory, or another resource, for its pods. `quota`: the quota of its namespace is full. `handed`:
as many pods as allowed wait in the cluster's own queue. `topology`: no rack, zone or node can hold
all of its pods.
"""


class Start(msgspec.Struct, frozen=True, omit_defaults=True):
    """Give a waiting allocation these slots."""

    allocation_id: str
    placement: tuple[tuple[str, tuple[int, ...]], ...]
    """Pairs of agent id and slot numbers, in the order of agent ids."""
    is_backfill: bool = False
    """A higher-priority request waits, which may preempt it."""
    is_long_awaited: bool = False


class Preempt(msgspec.Struct, frozen=True):
    """Preempt a running allocation."""

    allocation_id: str
    reason: str
    for_job: str = ""
    """The job that needs its slots; empty when its own job exceeds its share."""


class Wait(msgspec.Struct, frozen=True, omit_defaults=True, gc=False):
    """Why an allocation waits; `reasons` formats it."""

    allocation_id: str
    code: WaitCode
    behind: str = ""
    """The next allocation, when that is the reason."""
    agents: tuple[str, ...] = ()
    """The agents that are reserved for it."""


class Plan(msgspec.Struct, frozen=True, omit_defaults=True):
    """All decisions on one view; waits are in the order of the queue."""

    starts: tuple[Start, ...] = ()
    preemptions: tuple[Preempt, ...] = ()
    waits: tuple[Wait, ...] = ()
