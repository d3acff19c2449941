"""What is looked at before a task's first step, so that a hang becomes an error with a name.

Everywhere: the accelerators and the shared memory. In a gang of containers besides: the clocks,
the chief's ports, and the way between every two containers. The storage is tried by `launch`.
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
"""From here on storages and masters refuse what a machine has signed or been given."""
SHM_BYTES = 64 * 1024 * 1024
"""What a gang's libraries take at least."""
SHM = "/dev/shm"


def check(
    session: BaseSession,
    env: Mapping[str, str],
    met: Mapping[str, Any],
    found: Accelerators,
) -> None:
    """Look at everything that usually goes wrong.

    Args:
        session: as this task.
        env: of this container.
        met: the rendezvous, see `RendezvousInfo`.
        found: the accelerators of this container.

    Raises:
        EntryFailed: something is wrong; the text names thing, value and remedy.
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
    """The container sees the devices of its slots. Raises EntryFailed."""
    kind = env.get("DET_SLOT_TYPE", "")
    slots = json.loads(env.get("DET_SLOT_IDS") or "[]")
    if kind not in ("cuda", "rocm") or len(found.uuids) >= len(slots):
        return
    tool = {"cuda": "nvidia-smi", "rocm": "rocm-smi"}[kind]
    raise EntryFailed(
        f"this container was given {len(slots)} {kind} slots of agent {env['DET_AGENT_ID']} and "
        f"{tool} shows {len(found.uuids)}: see that the agent's driver works and that its "
        "container runtime passes devices on (for NVIDIA: the NVIDIA container toolkit)"
    )


def check_shared_memory(path: str = SHM) -> None:
    """There is room where ranks and data loaders exchange tensors. Raises EntryFailed."""
    try:
        stats = os.statvfs(path)
    except OSError:
        return  # a system that keeps shared memory elsewhere
    free = stats.f_bavail * stats.f_frsize
    if free < SHM_BYTES:
        raise EntryFailed(
            f"{path} has {free // 1024**2} MiB free, ranks on one machine need "
            f"{SHM_BYTES // 1024**2} or more: set resources.shm_size, or "
            "task_container_defaults.shm_size_bytes for the whole cluster"
        )


def check_clock(session: BaseSession) -> None:
    """This machine's clock agrees with the master's. Raises EntryFailed."""
    import time
    from email.utils import parsedate_to_datetime

    told = session.get("/info").headers.get("date")
    if not told:
        return
    ahead_s = time.time() - parsedate_to_datetime(told).timestamp()
    text = (
        f"the clock of this machine is {abs(ahead_s):.0f} s "
        f"{'ahead of' if ahead_s > 0 else 'behind'} the master's"
    )
    if abs(ahead_s) > CLOCK_LIMIT_S:
        raise EntryFailed(f"{text}: set it right (with chrony or systemd-timesyncd)")
    if abs(ahead_s) > CLOCK_WARNING_S:
        log(text, "WARNING")


def check_gang(session: BaseSession, env: Mapping[str, str], met: Mapping[str, Any]) -> None:
    """Every container of the gang reaches every other one. Raises EntryFailed."""
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
        told = gather(session, env, len(addresses), here)
    mine_failed = [
        f"container {p['rank']} cannot reach {failure}"
        for p in sorted(told, key=lambda p: int(p["rank"]))
        for failure in p["failures"]
    ]
    if mine_failed:
        shown = "; ".join(mine_failed[:4]) + ("; …" if len(mine_failed) > 4 else "")
        raise EntryFailed(
            f"the containers of this task do not reach each other: {shown}. Open all TCP ports "
            "between agents (docs/agents-and-runtimes.md has the table), or set an agent's "
            "`advertised_address` where it tells one that others do not reach"
        )
    log(f"all {len(addresses)} containers reach each other")


def check_ports_free(address: str) -> None:
    """The chief's ports belong to nobody else on its machine. Raises EntryFailed."""
    import socket

    names = ("C10D_PORT", "INTER_TRAIN_PROCESS_COMM_PORT_1", "INTER_TRAIN_PROCESS_COMM_PORT_2")
    for name in names:
        port = int(getattr(_constants, name))
        try:
            socket.create_server(("", port)).close()
        except OSError as error:
            raise EntryFailed(
                f"port {port} ({name}) of the chief's machine {address} cannot be used "
                f"({error.strerror}): end what uses it, or list it under `reserved_ports` in the "
                "master's configuration"
            ) from error
