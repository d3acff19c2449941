"""Ports that the containers of a trial use among themselves. PURE.

Containers in one network share its ports, so numbers are reserved by host: those of an allocation
are free on all of its hosts, and a host with several of its containers gives each its own numbers.
Source: task-contract 2.6.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

TRIAL_PORTS = {
    "DTRAIN_SSH_PORT": 12350,
    "INTER_TRAIN_PROCESS_COMM_PORT_1": 12360,
    "INTER_TRAIN_PROCESS_COMM_PORT_2": 12365,
    "C10D_PORT": 29400,
}
"""First choice of each port that a trial's processes use among themselves."""

EVERY_CONTAINERS = ("DTRAIN_SSH_PORT", "C10D_PORT")
"""Services that run in each container, not only the chief's: sshd, and TensorFlow's workers."""


def wanted_ports(hosts: Sequence[frozenset[str]]) -> dict[str, int]:
    """The ports that an allocation reserves, by name, with the first number of each.

    Args:
        hosts: by rank, the names and addresses of each container's machine. A common one makes
            two machines the same; a wrong match only costs numbers.
    """
    wanted = dict(TRIAL_PORTS)
    seen: set[str] = set()
    for rank, own in enumerate(hosts):
        if own & seen:
            wanted.update({_of_rank(name, rank): TRIAL_PORTS[name] for name in EVERY_CONTAINERS})
        seen |= own
    return wanted


def choose_ports(wanted: Mapping[str, int], used: frozenset[int]) -> dict[str, int]:
    """The lowest free number from each base on."""
    taken = set(used)
    chosen: dict[str, int] = {}
    for name, base in wanted.items():
        port = base
        while port in taken:
            port += 1
        taken.add(port)
        chosen[name] = port
    return chosen


def ports_of_rank(ports: Mapping[str, int], rank: int) -> dict[str, int]:
    """An allocation's ports as seen by one of its containers.

    Only its ssh server is moved: C10D_PORT names the chief's in every container.
    """
    own = {name: port for name, port in ports.items() if name in TRIAL_PORTS}
    moved = ports.get(_of_rank("DTRAIN_SSH_PORT", rank))
    return own if moved is None else {**own, "DTRAIN_SSH_PORT": moved}


def ports_by_rank(ports: Mapping[str, int], containers: int) -> dict[str, list[int]]:
    """The ports of each container, by rank; empty where all have the same numbers."""
    if set(ports) <= set(TRIAL_PORTS):
        return {}
    return {
        name: [ports.get(_of_rank(name, rank), ports[name]) for rank in range(containers)]
        for name in EVERY_CONTAINERS
    }


def _of_rank(name: str, rank: int) -> str:
    return f"{name}.{rank}"
