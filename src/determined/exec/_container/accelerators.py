"""Detection of the accelerators that a container can use."""

from __future__ import annotations

import json
import os
from typing import Any, List, Mapping, NamedTuple

from determined.common.api import errors
from determined.common.api._session import BaseSession
from determined.exec._log import log


class Accelerators(NamedTuple):
    """The accelerator type (cuda, rocm or cpu) and the UUIDs."""

    kind: str
    uuids: List[str]


def detect() -> Accelerators:
    """Detect accelerators with nvidia-smi, then rocm-smi."""
    import shutil

    if shutil.which("nvidia-smi"):
        lines = output(["nvidia-smi", "--query-gpu=uuid", "--format=csv,noheader,nounits"])
        uuids = [line.strip() for line in lines.splitlines() if line.strip()]
        if uuids:
            return Accelerators("cuda", uuids)
    if shutil.which("rocm-smi"):
        uuids = _rocm_uuids(output(["rocm-smi", "--showid", "--showuniqueid", "--json"]))
        if uuids:
            return Accelerators("rocm", uuids)
    return Accelerators("cpu", [])


def report(session: BaseSession, env: Mapping[str, str], found: Accelerators) -> None:
    """Report the accelerators to the master; a failure is only logged."""
    path = f"/api/v1/allocations/{env['DET_ALLOCATION_ID']}/acceleratorData"
    data = {
        "containerId": env.get("DET_CONTAINER_ID", ""),
        "allocationId": env["DET_ALLOCATION_ID"],
        "nodeName": env["DET_AGENT_ID"],
        "taskId": env["DET_TASK_ID"],
        "acceleratorType": found.kind,
        "acceleratorUuids": found.uuids,
    }
    body = {"allocationId": env["DET_ALLOCATION_ID"], "acceleratorData": data}
    try:
        session.with_retry(1).post(path, json=body)
    except (errors.BadRequestException, errors.BadResponseException) as error:
        log(f"the accelerators could not be reported: {error}", "WARNING")


def describe(env: Mapping[str, str], found: Accelerators) -> None:
    """Log where this task runs and which accelerators it has."""
    import socket

    uuids = ", ".join(found.uuids)
    log(f"detected {len(found.uuids)} gpus ({uuids})")
    log(
        f"Running task container on agent_id={env['DET_AGENT_ID']}, "
        f"hostname={socket.gethostname()} with visible GPUs {found.uuids}"
    )


def output(command: List[str]) -> str:
    import subprocess

    try:
        done = subprocess.run(
            command, capture_output=True, text=True, timeout=60, check=True, env=dict(os.environ)
        )
    except (OSError, subprocess.SubprocessError) as error:
        log(f"{command[0]} failed, so its accelerators are not detected: {error}", "WARNING")
        return ""
    return done.stdout


def _rocm_uuids(text: str) -> List[str]:
    try:
        cards: Any = json.loads(text or "{}")
    except ValueError:
        return []
    return [str(card["Unique ID"]) for _, card in sorted(cards.items()) if "Unique ID" in card]
