"""Information about the task that this process runs in.

The entry chain writes four JSON files under `$DET_RUN_DIR/info` from the environment and from
responses of the master. Every process of the task reads them.
"""

from __future__ import annotations

import json
import os
from typing import Any, Dict, List, Mapping, Optional

from determined._constants import run_dir
from determined.common.api._address import canonicalize_master_url

_UNREAD: Any = object()
_cached: Any = _UNREAD


class RendezvousInfo:
    """The containers of an allocation, in order of rank.

    Args:
        container_addrs: one address per container; the first is the chief's.
        container_rank: the index of this container, from 0.
        container_slot_counts: slots of each container.
    """

    def __init__(
        self, container_addrs: List[str], container_rank: int, container_slot_counts: List[int]
    ) -> None:
        self.container_addrs = container_addrs
        self.container_rank = container_rank
        self.container_slot_counts = container_slot_counts


class TrialInfo:
    """The trial that this task trains.

    `steps_completed` is that of the trial's own latest checkpoint, 0 at its first start.
    `trial_run_id` counts the starts of the trial from 1.
    """

    def __init__(
        self,
        trial_id: int,
        experiment_id: int,
        trial_seed: int,
        hparams: Dict[str, Any],
        config: Dict[str, Any],
        steps_completed: int = 0,
        trial_run_id: int = 1,
        debug: bool = False,
        inter_node_network_interface: Optional[str] = None,
    ) -> None:
        self.trial_id = trial_id
        self.experiment_id = experiment_id
        self.trial_seed = trial_seed
        self.hparams = hparams
        self._config = config
        self._steps_completed = steps_completed
        self._trial_run_id = trial_run_id
        self._debug = debug
        self._inter_node_network_interface = inter_node_network_interface

    @classmethod
    def from_environment(cls, env: Mapping[str, str]) -> TrialInfo:
        """Read the DET_* variables of a trial.

        Raises:
            KeyError: one of the required variables is not set.
        """
        config = json.loads(env["DET_EXPERIMENT_CONFIG"])
        debug = env.get("DET_DEBUG", "").lower() in ("1", "true") or bool(config.get("debug"))
        return cls(
            trial_id=int(env["DET_TRIAL_ID"]),
            experiment_id=int(env["DET_EXPERIMENT_ID"]),
            trial_seed=int(env["DET_TRIAL_SEED"]),
            hparams=json.loads(env["DET_HPARAMS"]),
            config=config,
            steps_completed=int(env.get("DET_STEPS_COMPLETED") or 0),
            trial_run_id=int(env.get("DET_TRIAL_RUN_ID") or 1),
            debug=debug,
            inter_node_network_interface=env.get("DET_INTER_NODE_NETWORK_INTERFACE"),
        )

    def to_json(self) -> Dict[str, Any]:
        """The content of trial.json."""
        return {
            "trial_id": self.trial_id,
            "experiment_id": self.experiment_id,
            "trial_seed": self.trial_seed,
            "hparams": self.hparams,
            "config": self._config,
            "steps_completed": self._steps_completed,
            "trial_run_id": self._trial_run_id,
            "debug": self._debug,
            "inter_node_network_interface": self._inter_node_network_interface,
        }


class ResourcesInfo:
    """The UUIDs of the accelerators that this container can use."""

    def __init__(self, gpu_uuids: List[str]) -> None:
        self.gpu_uuids = gpu_uuids


class ClusterInfo:
    """The cluster and the task that this process belongs to."""

    def __init__(
        self,
        master_url: str,
        cluster_id: str,
        agent_id: str,
        slot_ids: List[int],
        task_id: str,
        allocation_id: str,
        session_token: str,
        task_type: str,
        master_cert_name: Optional[str] = None,
        master_cert_file: Optional[str] = None,
        latest_checkpoint: Optional[str] = None,
        trial_info: Optional[TrialInfo] = None,
        rendezvous_info: Optional[RendezvousInfo] = None,
        resources_info: Optional[ResourcesInfo] = None,
    ) -> None:
        self.master_url = canonicalize_master_url(master_url)
        self.cluster_id = cluster_id
        self.agent_id = agent_id
        self.slot_ids = slot_ids
        self.task_id = task_id
        self.allocation_id = allocation_id
        self.session_token = session_token
        self.task_type = task_type
        self.master_cert_name = master_cert_name
        self.master_cert_file = master_cert_file
        self._latest_checkpoint = latest_checkpoint
        self._trial_info = trial_info
        self._rendezvous_info = rendezvous_info
        self._resources_info = resources_info

    @classmethod
    def from_environment(cls, env: Mapping[str, str]) -> ClusterInfo:
        """Read the DET_* variables of any task.

        Raises:
            KeyError: one of the required variables is not set.
        """
        return cls(
            master_url=env["DET_MASTER"],
            cluster_id=env["DET_CLUSTER_ID"],
            agent_id=env["DET_AGENT_ID"],
            slot_ids=json.loads(env["DET_SLOT_IDS"]),
            task_id=env["DET_TASK_ID"],
            allocation_id=env["DET_ALLOCATION_ID"],
            session_token=env["DET_SESSION_TOKEN"],
            task_type=env["DET_TASK_TYPE"],
            master_cert_name=env.get("DET_MASTER_CERT_NAME"),
            master_cert_file=env.get("DET_MASTER_CERT_FILE"),
            latest_checkpoint=env.get("DET_LATEST_CHECKPOINT"),
        )

    def to_json(self) -> Dict[str, Any]:
        """The content of cluster.json."""
        return {
            "master_url": self.master_url,
            "cluster_id": self.cluster_id,
            "agent_id": self.agent_id,
            "slot_ids": self.slot_ids,
            "task_id": self.task_id,
            "allocation_id": self.allocation_id,
            "session_token": self.session_token,
            "task_type": self.task_type,
            "master_cert_name": self.master_cert_name,
            "master_cert_file": self.master_cert_file,
            "latest_checkpoint": self._latest_checkpoint,
        }

    @property
    def latest_checkpoint(self) -> Optional[str]:
        """The checkpoint to resume from; None at the first start."""
        return self._latest_checkpoint

    @property
    def user_data(self) -> Dict[str, Any]:
        """The configuration's `data`; empty if the task is not a trial."""
        if self._trial_info is None and self.task_type != "TRIAL":
            return {}
        return dict(self.trial._config.get("data") or {})

    @property
    def trial(self) -> TrialInfo:
        """The trial of this task.

        Raises:
            RuntimeError: the task is not a trial.
        """
        if self._trial_info is None:
            raise RuntimeError(f"a task of type {self.task_type} has no trial info")
        return self._trial_info

    @property
    def container_addrs(self) -> List[str]:
        """One address per container, in order of rank."""
        return self._rendezvous.container_addrs

    @property
    def container_slot_counts(self) -> List[int]:
        """Slots of each container, in order of rank."""
        return self._rendezvous.container_slot_counts

    @property
    def container_rank(self) -> int:
        return self._rendezvous.container_rank

    @property
    def gpu_uuids(self) -> List[str]:
        """UUIDs of this container's accelerators; empty before the entry chain detects them."""
        return self._resources_info.gpu_uuids if self._resources_info else []

    @property
    def _rendezvous(self) -> RendezvousInfo:
        if self._rendezvous_info is not None:
            return self._rendezvous_info
        if self.task_type == "TRIAL":
            raise RuntimeError(
                "this trial has no rendezvous info yet: its containers are still starting"
            )
        return RendezvousInfo(["127.0.0.1"], 0, [len(self.slot_ids)])


def get_cluster_info() -> Optional[ClusterInfo]:
    """The info of the task that this process runs in; None off the cluster. Cached."""
    global _cached
    if _cached is _UNREAD:
        _cached = read_cluster_info(os.path.join(run_dir(), "info"))
    info: Optional[ClusterInfo] = _cached
    return info


def trial_id_of(info: Optional[ClusterInfo]) -> int:
    """The id of the trial of a task; 0 for other tasks and off the cluster."""
    return info.trial.trial_id if info is not None and info.task_type == "TRIAL" else 0


def read_cluster_info(directory: str) -> Optional[ClusterInfo]:
    """Read the info files of a directory; None if there is no cluster.json."""
    cluster = _read(directory, "cluster.json")
    if cluster is None:
        return None
    trial = _read(directory, "trial.json")
    rendezvous = _read(directory, "rendezvous.json")
    resources = _read(directory, "resources.json")
    return ClusterInfo(
        **cluster,
        trial_info=None if trial is None else TrialInfo(**trial),
        rendezvous_info=None if rendezvous is None else RendezvousInfo(**rendezvous),
        resources_info=None if resources is None else ResourcesInfo(**resources),
    )


def write_info(directory: str, name: str, content: Mapping[str, Any]) -> None:
    """Write one info file atomically, readable by its owner only."""
    os.makedirs(directory, exist_ok=True)
    path = os.path.join(directory, name)
    descriptor = os.open(path + ".new", os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600)
    with os.fdopen(descriptor, "w", encoding="utf-8") as file:
        json.dump(content, file)
    os.replace(path + ".new", path)


def _read(directory: str, name: str) -> Any:
    try:
        with open(os.path.join(directory, name), encoding="utf-8") as file:
            return json.load(file)
    except FileNotFoundError:
        return None
