"""Preflight checks, which turn a later hang into an error with a cause.

Every task: accelerators and shared memory. Gangs of several containers also: clocks, the chief's
ports, and the connectivity of all containers. `launch` checks the storage.
"""

from __future__ import annotations

import json
import os
from typing import Any, Dict, List, Mapping

from determined import _constants
from determined.common.api._session import BaseSession
from determined.exec._container.accelerators import Accelerators
from determined.exec._log import EntryFailed, log

CLOCK_WARNING_S = 5.0
CLOCK_LIMIT_S = 900.0
"""Beyond this skew, storages and masters refuse signatures and tokens."""
SHM_BYTES = 64 * 1024 * 1024
"""The minimum that communication libraries need."""
SHM = "/dev/shm"


def check(
    session: BaseSession,
    env: Mapping[str, str],
    met: Mapping[str, Any],
    found: Accelerators,
) -> None:
    """Run all preflight checks.

    Args:
        session: the task's session.
        env: the environment of this container.
        met: the fields of `RendezvousInfo`.
        found: the accelerators of this container.

    Raises:
        EntryFailed: a check failed; the text has the value and a remedy.
    """
    check_accelerators(env, found)
    addresses: List[str] = met["container_addrs"]
    slots = sum(met["container_slot_counts"])
    if slots > 1:
        check_shared_memory()
    if len(addresses) > 1:
        check_clock(session)
        check_gang(session, env, met)


def check_accelerators(env: Mapping[str, str], found: Accelerators) -> None:
    """Check that the container sees the devices of its slots. Raises EntryFailed."""
    kind = env.get("DET_SLOT_TYPE", "")
    slots = json.loads(env.get("DET_SLOT_IDS") or "[]")
    if kind not in ("cuda", "rocm") or len(found.uuids) >= len(slots):
        return
    tool = {"cuda": "nvidia-smi", "rocm": "rocm-smi"}[kind]
    raise EntryFailed(
        f"this container has {len(slots)} {kind} slots of agent {env['DET_AGENT_ID']} and "
        f"{tool} lists {len(found.uuids)}: check that the agent's driver works and that its "
        "container runtime exposes devices (for NVIDIA: the NVIDIA container toolkit)"
    )


def check_shared_memory(path: str = SHM) -> None:
    """Check the free shared memory, where ranks exchange tensors. Raises EntryFailed."""
    try:
        stats = os.statvfs(path)
    except OSError:
        return  # no shared memory at this path
    free = stats.f_bavail * stats.f_frsize
    if free < SHM_BYTES:
        raise EntryFailed(
            f"{path} has {free // 1024**2} MiB free, and ranks on one machine need at least "
            f"{SHM_BYTES // 1024**2} MiB: set resources.shm_size, or "
            "task_container_defaults.shm_size_bytes for the whole cluster"
        )


def check_clock(session: BaseSession) -> None:
    """Compare this machine's clock with the master's. Raises EntryFailed."""
    import time
    from email.utils import parsedate_to_datetime

    date = session.get("/info").headers.get("date")
    if not date:
        return
    ahead_s = time.time() - parsedate_to_datetime(date).timestamp()
    text = (
        f"the clock of this machine is {abs(ahead_s):.0f} s "
        f"{'ahead of' if ahead_s > 0 else 'behind'} the master's"
    )
    if abs(ahead_s) > CLOCK_LIMIT_S:
        raise EntryFailed(f"{text}: synchronize it (with chrony or systemd-timesyncd)")
    if abs(ahead_s) > CLOCK_WARNING_S:
        log(text, "WARNING")


def check_gang(session: BaseSession, env: Mapping[str, str], met: Mapping[str, Any]) -> None:
    """Check that all containers of the gang reach each other. Raises EntryFailed."""
    from determined.exec._container.connectivity import GreetingListener, reach_all
    from determined.exec._container.rendezvous import gather

    rank, addresses = int(met["container_rank"]), list(met["container_addrs"])
    if rank == 0:
        check_ports_free(addresses[0])
    with GreetingListener() as listener:
        mine = {"rank": rank, "port": listener.port, "agent": env["DET_AGENT_ID"]}
        peers = sorted(gather(session, env, len(addresses), mine), key=lambda p: int(p["rank"]))
        others = [(p, addresses[int(p["rank"])]) for p in peers if int(p["rank"]) != rank]
        failures = reach_all(
            [
                (f"container {p['rank']} on agent {p['agent']}", a, int(p["port"]))
                for p, a in others
            ]
        )
        here: Dict[str, Any] = {"rank": rank, "failures": failures}
        results = gather(session, env, len(addresses), here)
    failed = [
        f"container {p['rank']} cannot reach {failure}"
        for p in sorted(results, key=lambda p: int(p["rank"]))
        for failure in p["failures"]
    ]
    if failed:
        shown = "; ".join(failed[:4]) + ("; …" if len(failed) > 4 else "")
        raise EntryFailed(
            f"the containers of this task cannot reach each other: {shown}. Open all TCP ports "
            "between agents (docs/agents-and-runtimes.md lists them), or set an agent's "
            "`advertised_address` to one that the other agents can reach"
        )
    log(f"all {len(addresses)} containers reach each other")


def check_ports_free(address: str) -> None:
    """Check that the chief's ports are free on its machine. Raises EntryFailed."""
    import socket

    names = ("C10D_PORT", "INTER_TRAIN_PROCESS_COMM_PORT_1", "INTER_TRAIN_PROCESS_COMM_PORT_2")
    for name in names:
        port = int(getattr(_constants, name))
        try:
            socket.create_server(("", port)).close()
        except OSError as error:
            raise EntryFailed(
                f"port {port} ({name}) of the chief's machine {address} cannot be used "
                f"({error.strerror}): stop the process that uses it, or add the port to "
                "`reserved_ports` in the master's configuration"
            ) from error
