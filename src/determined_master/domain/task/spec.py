"""The start of a task's containers: command, environment, mounts.

Source: task-contract 2.3 (environment), 2.8 (mounts).
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any

import msgspec

from determined_master.domain.task.containers import typed_containers
from determined_master.domain.task.gang_ports import TRIAL_PORTS

RUN_DIR = "/run/determined"
WORK_DIR = "/run/determined/workdir"
MASTER_CERT_FILE = f"{RUN_DIR}/etc/ssl/master.crt"

RENDEZVOUS_PORT = 1734
"""Exposed by every trial; only marks the address at which a container is reached."""


class TaskIdentity(msgspec.Struct, frozen=True):
    """The identity of a container, with its tokens."""

    task_id: str
    task_type: str
    allocation_id: str
    container_id: str
    username: str
    session_token: str
    user_token: str
    uses_tls: bool = False


class TrialRun(msgspec.Struct, frozen=True):
    experiment_id: int
    trial_id: int
    run_id: int
    seed: int
    config: Mapping[str, Any]
    """The experiment's configuration as it is stored."""
    hparams: Mapping[str, Any]
    steps_completed: int = 0
    latest_checkpoint: str | None = None


def base_environment(identity: TaskIdentity) -> dict[str, str]:
    """Variables that every task gets from the master."""
    logging_metadata = {"allocation_id": identity.allocation_id, "task_id": identity.task_id}
    trusted = {"DET_MASTER_CERT_FILE": MASTER_CERT_FILE} if identity.uses_tls else {}
    return {
        "PYTHONUSERBASE": f"{RUN_DIR}/pythonuserbase",
        "DET_TASK_ID": identity.task_id,
        "DET_ALLOCATION_ID": identity.allocation_id,
        "DET_RESOURCES_ID": identity.container_id,
        "DET_CONTAINER_ID": identity.container_id,
        "DET_SESSION_TOKEN": identity.session_token,
        "DET_USER_TOKEN": identity.user_token,
        "DET_WORKDIR": WORK_DIR,
        "DET_RUN_DIR": RUN_DIR,
        "DET_USER": identity.username,
        "DET_USE_TLS": "true" if identity.uses_tls else "false",
        "DET_SEGMENT_ENABLED": "false",
        "DET_TASK_LOGGING_METADATA": _compact(logging_metadata),
        "DET_RESOURCES_TYPE": "docker-container",
        "DET_TASK_TYPE": identity.task_type,
        **trusted,
    }


def trial_environment(run: TrialRun, ports: Mapping[str, int]) -> dict[str, str]:
    """Variables that a trial gets in addition to those of every task.

    Args:
        run: the run that starts.
        ports: the allocation's ports by variable name, as reserved for it.
    """
    variables = {
        "DET_EXPERIMENT_ID": str(run.experiment_id),
        "DET_TRIAL_ID": str(run.trial_id),
        "DET_TRIAL_RUN_ID": str(run.run_id),
        "DET_TRIAL_SEED": str(run.seed),
        "DET_EXPERIMENT_CONFIG": _compact(_with_trial_port(run.config)),
        "DET_HPARAMS": _compact(run.hparams),
        "DET_STEPS_COMPLETED": str(run.steps_completed),
        **{name: str(ports[name]) for name in TRIAL_PORTS if name in ports},
    }
    if run.latest_checkpoint is not None:
        variables["DET_LATEST_CHECKPOINT"] = run.latest_checkpoint
    if typed_containers(run.config).is_debug:
        variables["DET_DEBUG"] = "true"
    return variables


def device_type_of(slots: int, devices: frozenset[str]) -> str:
    """The device type that selects a container's image and variables: cpu without devices."""
    if slots == 0 or not devices:
        return "cpu"
    return sorted(devices)[0]


def _with_trial_port(config: Mapping[str, Any]) -> dict[str, Any]:
    """The configuration as its trial reads it: with the port of its rendezvous."""
    environment = dict(config.get("environment") or {})
    environment["ports"] = {**(environment.get("ports") or {}), "trial": RENDEZVOUS_PORT}
    return {**config, "environment": environment}


def _compact(value: Any) -> str:
    return json.dumps(value, separators=(",", ":"), sort_keys=True)
