"""Where each container of a trial listens, by rank.

All listen at the same number, except where some share a machine: then DET_PORTS_BY_RANK tells
the number of each, as JSON.
"""

from __future__ import annotations

import json
import os
from typing import Dict, List

from determined import _constants
from determined._info import ClusterInfo

NAMES = "hosts"
"""A file beside the keys that tells ssh what the names of containers stand for."""


def share_a_machine() -> bool:
    """Whether containers of this trial share a machine, so that an address names several."""
    return bool(_by_rank())


def ports(name: str, default: int, containers: int) -> List[int]:
    """The port of that name in each container; `default` where they are all the same."""
    return _by_rank().get(name) or [default] * containers


def ssh_names(info: ClusterInfo) -> List[str]:
    """What ssh calls each container, by rank: its address where that names one alone.

    Raises:
        OSError: the names cannot be written.
    """
    if not share_a_machine():
        return list(info.container_addrs)
    names = [f"container-{rank}" for rank in range(len(info.container_addrs))]
    numbers = ports("DTRAIN_SSH_PORT", _constants.DTRAIN_SSH_PORT, len(names))
    path = os.path.join(_constants.run_dir(), "ssh", NAMES)
    with open(path, "w", encoding="ascii") as file:
        for name, address, port in zip(names, info.container_addrs, numbers):
            file.write(f"Host {name}\n    HostName {address}\n    Port {port}\n")
    return names


def ssh_port_options() -> List[str]:
    """What ssh is to be told besides a name: the port, unless the name stands for it."""
    return [] if share_a_machine() else ["-p", str(_constants.DTRAIN_SSH_PORT)]


def _by_rank() -> Dict[str, List[int]]:
    found: Dict[str, List[int]] = json.loads(os.environ.get("DET_PORTS_BY_RANK") or "{}")
    return found
