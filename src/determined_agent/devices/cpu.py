"""Slots that are not GPUs: the processors of the machine, and artificial slots."""

from __future__ import annotations

import hashlib
import os
import platform
import uuid
from pathlib import Path

from determined_wire.agent_link import Device


def cpu_devices(cpuinfo: Path = Path("/proc/cpuinfo")) -> tuple[Device, ...]:
    """Return one slot for all processors, named by their model and number."""
    try:
        text = cpuinfo.read_text(errors="replace")
    except OSError:
        text = ""
    fields: dict[str, str] = {}
    for line in text.splitlines():
        name, colon, value = line.partition(":")
        if colon:
            fields.setdefault(name.strip(), value.strip())
    brand = fields.get("model name") or platform.processor() or platform.machine()
    vendor = fields.get("vendor_id") or fields.get("CPU implementer") or platform.machine()
    count = os.cpu_count() or 1
    return (Device(id=0, brand=f"{brand} x {count} cores", uuid=vendor, type="cpu"),)


def artificial_devices(agent_id: str, count: int) -> tuple[Device, ...]:
    """Return artificial slots for tests and demos; the same agent always gets the same ones."""
    return tuple(
        Device(id=i, brand="Artificial", uuid=_artificial_uuid(agent_id, i), type="cpu")
        for i in range(count)
    )


def _artificial_uuid(agent_id: str, index: int) -> str:
    digest = hashlib.sha256(f"{agent_id}/{index}".encode()).digest()
    return str(uuid.UUID(bytes=digest[:16], version=4))
