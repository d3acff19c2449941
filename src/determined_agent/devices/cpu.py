"""The processors of a machine, as one slot."""

from __future__ import annotations

import os
import platform
from pathlib import Path

from determined_wire.agent_link import Device


def cpu_devices(cpuinfo: Path = Path("/proc/cpuinfo")) -> tuple[Device, ...]:
    """One slot for all processors, named by their model and number."""
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
