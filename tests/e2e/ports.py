"""Which ports the gangs of a test cluster use: workers of one test run share a machine."""

from __future__ import annotations

import json
import os

from determined_master.domain.task.gang_ports import TRIAL_PORTS

EACH = 20
"""Ports of one name that a worker's clusters have."""


def reserved_ports() -> list[int]:
    """Ports that belong to the clusters of the workers before this one."""
    worker = int(os.environ.get("PYTEST_XDIST_WORKER", "gw0").removeprefix("gw"))
    return sorted({base + n for base in TRIAL_PORTS.values() for n in range(EACH * worker)})


def with_reserved_ports(settings: str) -> str:
    """A master.yaml, or JSON, in which these are reserved."""
    ports = reserved_ports()
    if not ports:
        return settings
    if settings.lstrip().startswith("{"):
        return json.dumps({"reserved_ports": ports} | json.loads(settings))
    return f"reserved_ports: {ports}\n{settings}"


def first_port(name: str) -> int:
    """What the first gang of a cluster gets by this name."""
    port, taken = 0, set(reserved_ports())
    for each, base in TRIAL_PORTS.items():
        port = next(p for p in range(base, 65_536) if p not in taken)
        if each == name:
            return port
        taken.add(port)
    raise KeyError(name)
