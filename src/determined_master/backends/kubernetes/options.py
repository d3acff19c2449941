"""The backend's options for the cluster that it uses."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Literal

import msgspec

SlotType = Literal["cuda", "rocm", "cpu"]

RESOURCE_OF: Mapping[str, str] = {"cuda": "nvidia.com/gpu", "rocm": "amd.com/gpu"}
"""By slot type: the resource of nodes and pods. CPUs are counted separately."""


class PoolPods(msgspec.Struct, frozen=True, kw_only=True):
    """A pool: where its pods may go, as its pod specs say."""

    name: str
    cpu_pod_spec: Mapping[str, Any] | None = None
    gpu_pod_spec: Mapping[str, Any] | None = None


class MasterAddress(msgspec.Struct, frozen=True, kw_only=True):
    """Where pods call the master."""

    scheme: str = "http"
    host: str = ""
    port: int = 8080
    cert_name: str = ""

    @property
    def url(self) -> str:
        """Without a slash at its end."""
        shown = f"[{self.host}]" if ":" in self.host else self.host
        return f"{self.scheme}://{shown}:{self.port}"


class ClusterOptions(msgspec.Struct, frozen=True, kw_only=True):
    """One Kubernetes cluster."""

    cluster_id: str
    """Of the master: marks all that is its."""
    master_id: str = ""
    master: MasterAddress
    pools: tuple[PoolPods, ...]
    node_prefix: str = ""
    """Before a node's name it makes an agent's id: nodes of several clusters may share names."""
    kubeconfig_path: str = ""
    """Empty for the account of the pod that the master runs in."""
    default_namespace: str = "default"
    slot_type: SlotType = "cuda"
    cpu_per_slot: float = 1.0
    """CPUs of one slot, where slots are CPUs."""
    default_scheduler: str = ""


class Times(msgspec.Struct, frozen=True, kw_only=True):
    """How long to wait for what, in seconds."""

    call_s: float = 20.0
    """One answer of the API server."""
    watch_s: int = 240
    """One watch, before it is opened again."""
    pause_s: float = 1.0
    """After the API server could not be reached."""
    longest_pause_s: float = 15.0
    unplaced_s: float = 300.0
    """How long a pod may wait for its node before its slots are released."""
    output_s: float = 60.0
    """Time limit for the output of an ended pod that cannot be read."""
    last_lines_s: float = 10.0
    """How long the end of a pod is held back for its last output, which is stored first."""
    flush_s: float = 0.25
    """A line of output waits at most so long for others."""
    sweep_s: float = 60.0
    """Between searches for leftovers."""
    grace_s: int = 15
    """Between a pod's request to end and its end by force."""
