"""Agents as a pool's scheduler sees them."""

from __future__ import annotations

from typing import Any

from tests.domain.builders import T0

from determined_master.ports.agents import AgentSnapshot
from determined_wire.agent_link import Device


def snapshot(id: str, slots: int = 2, **fields: Any) -> AgentSnapshot:
    known: dict[str, Any] = {
        "pool": "default",
        "hostname": id,
        "address": "",
        "devices": tuple(
            Device(id=n, brand="", uuid=f"{id}{n}", type="cpu") for n in range(slots)
        ),
        "is_connected": True,
        "registered_at": T0,
        "version": "",
    }
    return AgentSnapshot(id=id, **{**known, **fields})
