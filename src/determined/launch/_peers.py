"""The ports of a trial's containers, by rank.

All containers use the same port numbers, unless some share a machine. DET_PORTS_BY_RANK then has
the ports of each container as JSON.
"""

from __future__ import annotations

import json
import os
from typing import Dict, List

from determined import _constants
from determined._info import ClusterInfo

NAMES = "hosts"
"""The ssh config file that defines the host names of containers."""


def share_a_machine() -> bool:
    """Whether containers of this trial share a machine and thus an address."""
    return bool(_by_rank())


def ports(name: str, default: int, containers: int) -> List[int]:
    """The port of this name in each container; `default` if they are all the same."""
    return _by_rank().get(name) or [default] * containers


def ssh_names(info: ClusterInfo) -> List[str]:
    """The ssh host name of each container by rank: its address if that is unique.

    Raises:
        OSError: the config file cannot be written.
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
    """The ssh options for the port, unless the host name implies it."""
    return [] if share_a_machine() else ["-p", str(_constants.DTRAIN_SSH_PORT)]


def _by_rank() -> Dict[str, List[int]]:
    found: Dict[str, List[int]] = json.loads(os.environ.get("DET_PORTS_BY_RANK") or "{}")
    return found
