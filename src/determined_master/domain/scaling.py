"""How many machines a pool should have: what runs idle leaves, what waits is made room for."""

from __future__ import annotations

from datetime import datetime
from typing import Literal

import msgspec

MachineState = Literal[
    "pending", "starting", "running", "stopping", "stopped", "terminating", "unknown"
]
"""`pending`: asked for and not granted yet, as a request for a spot machine."""


class Machine(msgspec.Struct, frozen=True, kw_only=True):
    """One machine of a pool, as its provider knows it."""

    id: str
    agent_name: str
    """The id with which the agent on it joins."""
    state: MachineState
    launched_at: datetime
    is_spot: bool = False


class MachineType(msgspec.Struct, frozen=True, kw_only=True):
    """What each machine of a pool is."""

    slots: int
    """Of the agent on it; 0 where it takes only tasks without slots."""
    device_type: Literal["cuda", "rocm", "cpu", ""] = ""
    """Of the slots; empty without slots."""
    instance_type: str = ""
    image: str = ""
    """What it boots."""
    accelerator: str = ""
    """For people: `8 x A100`."""
    location: str = ""
    """Region or zone; empty until the provider knows."""
    is_preemptible: bool = False
    """Whether the provider may take it back at any time."""
