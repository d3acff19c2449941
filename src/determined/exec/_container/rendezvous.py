"""Rendezvous: the containers of an allocation exchange their addresses."""

from __future__ import annotations

import json
import os
from typing import Any, Dict, List, Mapping

from determined._constants import run_dir
from determined._info import write_info
from determined._uuid import new_uuid
from determined.common.api._session import BaseSession
from determined.exec._log import EntryFailed

WAIT_S = 24 * 3600.0
"""The master answers when the last container has started, which may take long."""


def wait_for_containers(session: BaseSession, env: Mapping[str, str]) -> Dict[str, Any]:
    """Wait for the other containers, and write rendezvous.json.

    Returns:
        The content of rendezvous.json.

    Raises:
        EntryFailed: the resources type is unknown.
        APIException: the allocation ended while this waited.
    """
    kind = env.get("DET_RESOURCES_TYPE", "docker-container")
    knows_master = env.get("DET_RENDEZVOUS") == "master"
    if knows_master or kind in ("docker-container", "process"):
        found = _ask_master(session, env)
    elif kind in ("k8s-job", "slurm-job"):
        found = _gather(session, env, kind)
    else:
        raise EntryFailed(f"DET_RESOURCES_TYPE {kind!r} is not supported by this version")
    write_info(os.path.join(run_dir(), "info"), "rendezvous.json", found)
    return found


def is_alone(env: Mapping[str, str]) -> bool:
    """Whether this is the only pod of its task, and knows its own address.

    It waits for nobody. The master learns the start of a pod up to a second later than the pod,
    because a kubelet looks for started containers once a second.
    """
    is_only = env.get("DET_KUBERNETES_JOB_PARALLELISM") == "1"
    return is_only and env.get("DET_RENDEZVOUS") == "master" and bool(_own_address(env))


def meet_nobody(_session: BaseSession, env: Mapping[str, str]) -> Dict[str, Any]:
    """Write rendezvous.json of a container that is alone, and return its content."""
    found = _content([_own_address(env)], 0, [len(json.loads(env["DET_SLOT_IDS"]))])
    write_info(os.path.join(run_dir(), "info"), "rendezvous.json", found)
    return found


def _own_address(env: Mapping[str, str]) -> str:
    return env.get("DET_KUBERNETES_POD_IP") or ""


def _ask_master(session: BaseSession, env: Mapping[str, str]) -> Dict[str, Any]:
    path = (
        f"/api/v1/allocations/{env['DET_ALLOCATION_ID']}"
        f"/resources/{env['DET_RESOURCES_ID']}/rendezvous"
    )
    info = (session.get(path, timeout=WAIT_S).json() or {})["rendezvousInfo"]
    return _content(info["addresses"], int(info.get("rank", 0)), info["slots"])


def _gather(session: BaseSession, env: Mapping[str, str], kind: str) -> Dict[str, Any]:
    mine = new_uuid()
    data: Dict[str, Any] = {
        "request_uuid": mine,
        "rendezvous_ip": env.get("DET_KUBERNETES_POD_IP") or env.get("DET_SLURM_RENDEZVOUS_IP"),
        "slots": len(json.loads(env["DET_SLOT_IDS"])),
    }
    peers = int(env.get("DET_KUBERNETES_JOB_PARALLELISM") or env.get("SLURM_NPROCS") or 1)
    order = "request_uuid"
    if kind == "slurm-job":
        data["rank"] = int(env.get("SLURM_PROCID", "0"))
        order = "rank"
    everyone = gather(session, env, peers, data)
    everyone.sort(key=lambda peer: peer[order])
    rank = next(i for i, peer in enumerate(everyone) if peer["request_uuid"] == mine)
    return _content(
        [peer["rendezvous_ip"] for peer in everyone],
        rank,
        [peer["slots"] for peer in everyone],
    )


def gather(
    session: BaseSession, env: Mapping[str, str], peers: int, data: Dict[str, Any]
) -> List[Dict[str, Any]]:
    """Wait until `peers` containers have sent their data, and return the data of all.

    Args:
        data: the data of this container; `request_uuid` identifies it and is set if missing.
    """
    body = {
        "allocationId": env["DET_ALLOCATION_ID"],
        "requestUuid": data.setdefault("request_uuid", new_uuid()),
        "numPeers": peers,
        "data": data,
    }
    path = f"/api/v1/allocations/{env['DET_ALLOCATION_ID']}/all_gather"
    everyone: List[Dict[str, Any]] = session.post(path, json=body, timeout=WAIT_S).json()["data"]
    return everyone


def _content(addresses: List[str], rank: int, slots: List[Any]) -> Dict[str, Any]:
    return {
        "container_addrs": addresses,
        "container_rank": rank,
        "container_slot_counts": [int(n) for n in slots],
    }
