"""The parts of an experiment's configuration from the cluster's admins and templates.

From high to low: policies, the submitted configuration, its template, the pool's
`task_container_defaults`, the cluster's, the workspace's checkpoint storage, the cluster's, the
pool's default priority, and the defaults of the schema.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import msgspec

from determined_master.domain.config.policies.rules import Policies
from determined_master.domain.config.schema.containers import Field, ListOf, Object
from determined_master.domain.config.schema.problems import ROOT, ProblemReport
from determined_master.domain.config.schema.values import Boolean, Integer, Text
from determined_master.domain.config.sections.environment import (
    CAPABILITIES,
    REGISTRY_AUTH,
    Image,
    Variables,
)
from determined_master.domain.config.sections.log_policies import LOG_POLICIES
from determined_master.domain.config.sections.minor import PBS, SLURM
from determined_master.domain.config.sections.mounts import (
    BIND_MOUNTS,
    DEVICE,
    absolute,
    container_path,
)
from determined_master.domain.config.sections.pod_spec import POD_SPEC
from determined_master.domain.config.sections.resources import DEFAULT_PRIORITY, MemorySize
from determined_master.domain.config.sizes import ConfigLimits
from determined_master.domain.config.template_source import TemplateSource
from determined_master.domain.schedule.priorities import PriorityOrder
from determined_master.domain.task.containers import typed_containers
from determined_master.domain.task.limits import limits_of, needs_of

DEFAULT_PREEMPTION_TIMEOUT_S = 3600
DEFAULT_SHM_BYTES = 4 * 1024**3
POD_SPECS = ("cpu_pod_spec", "gpu_pod_spec", "checkpoint_gc_pod_spec")


class PoolLayer(msgspec.Struct, frozen=True, kw_only=True):
    """The layer of one resource pool."""

    task_container_defaults: Mapping[str, Any] = msgspec.field(default_factory=dict)
    default_priority: int = DEFAULT_PRIORITY
    priorities: PriorityOrder = "smaller_first"
    """How its scheduler orders priorities, if it has any."""
    places_pods: bool = False
    """Whether its planner chooses the nodes of pods of Kubernetes."""


class ConfigLayers(msgspec.Struct, frozen=True, kw_only=True):
    """All layers below and above the submitted one."""

    template: Mapping[str, Any] | None = None
    template_source: TemplateSource | None = None
    """Whose template it is, if it is another user's."""
    task_container_defaults: Mapping[str, Any] = msgspec.field(default_factory=dict)
    """The cluster's; the pools' are in `pools`."""
    pools: Mapping[str, PoolLayer] = msgspec.field(default_factory=dict)
    """By name. While it is empty, every pool name is accepted."""
    default_compute_pool: str = "default"
    default_aux_pool: str = "default"
    workspace_checkpoint_storage: Mapping[str, Any] | None = None
    checkpoint_storage: Mapping[str, Any] | None = None
    policies: Policies = Policies()
    workspace_id: int = 1
    limits: ConfigLimits = ConfigLimits()


TASK_CONTAINER_DEFAULTS = Object(
    {
        "shm_size_bytes": Field(MemorySize(), DEFAULT_SHM_BYTES, "Shared memory of containers."),
        "network_mode": Field(Text(), "bridge", "Docker's network of containers."),
        "dtrain_network_interface": Field(
            Text(), "", "Network interface between ranks of one trial."
        ),
        "nccl_port_range": Field(Text(), "", "As MIN:MAX."),
        "gloo_port_range": Field(Text(), "", "As MIN:MAX."),
        "cpu_pod_spec": Field(POD_SPEC, doc="Pod of tasks without slots."),
        "gpu_pod_spec": Field(POD_SPEC, doc="Pod of tasks with slots."),
        "checkpoint_gc_pod_spec": Field(POD_SPEC),
        "image": Field(Image()),
        "registry_auth": Field(REGISTRY_AUTH),
        "force_pull_image": Field(Boolean(), False),
        "environment_variables": Field(Variables()),
        "add_capabilities": Field(CAPABILITIES),
        "drop_capabilities": Field(CAPABILITIES),
        "devices": Field(ListOf(DEVICE, key=container_path)),
        "bind_mounts": Field(BIND_MOUNTS),
        "work_dir": Field(Text()),
        "slurm": Field(SLURM, {}),
        "pbs": Field(PBS, {}),
        "log_policies": Field(LOG_POLICIES),
        "startup_hook": Field(Text(), "", "Script that runs before a task's own hook."),
        "preemption_timeout": Field(Integer(at_least=0), DEFAULT_PREEMPTION_TIMEOUT_S, "Seconds."),
        "allowed_host_paths": Field(
            ListOf(Text(absolute)),
            doc="Directories below which tasks may mount directories of the machine; unset: all.",
        ),
        "allowed_capabilities": Field(
            CAPABILITIES,
            doc=(
                "Capabilities that tasks may add; unset: all. If this or another of these limits "
                "is set, pod specs may have only harmless keys."
            ),
        ),
        "allowed_devices": Field(
            ListOf(Text(absolute)),
            doc="Devices that tasks may add, and no resources of device plugins; unset: all.",
        ),
        "allow_root": Field(Boolean(), doc="Whether tasks may run as uid 0; unset: they may."),
        "kubernetes": Field(Object({"max_slots_per_pod": Field(Integer(at_least=0))})),
    }
)
"""The section of master.yaml, for the cluster and for each pool."""


def merge_container_defaults(
    pool: Mapping[str, Any], cluster: Mapping[str, Any]
) -> Mapping[str, Any]:
    """Merge the defaults of a pool over those of the cluster, both canonical.

    Capabilities add up: the machines usually need those that are set for the whole cluster. The
    pod specs of a pool replace those of the cluster: they say which nodes the pool has.
    """
    merged = dict(TASK_CONTAINER_DEFAULTS.merge(pool, cluster))
    merged.update({key: pool[key] for key in POD_SPECS if pool.get(key)})
    for key in ("add_capabilities", "drop_capabilities"):
        both = {*(pool.get(key) or ()), *(cluster.get(key) or ())}
        if both:
            merged[key] = sorted(both)
    return merged


def container_defaults(layers: ConfigLayers, pool: str) -> Mapping[str, Any]:
    """The `task_container_defaults` that apply in a pool."""
    quiet = ProblemReport()  # settings are checked at start
    of_pool = layers.pools.get(pool, PoolLayer()).task_container_defaults
    return merge_container_defaults(
        TASK_CONTAINER_DEFAULTS.read(of_pool, "", quiet) or {},
        TASK_CONTAINER_DEFAULTS.read(layers.task_container_defaults, "", quiet) or {},
    )


def check_limits(config: Mapping[str, Any], layers: ConfigLayers, report: ProblemReport) -> None:
    """Report the parts of a machine that a completed configuration may not use."""
    defaults = container_defaults(layers, config["resources"]["resource_pool"])
    limits = limits_of(defaults, layers.checkpoint_storage)
    if limits.is_set:
        for at, text in limits.faults(needs_of(typed_containers(config))):
            report.problem(f"{ROOT}.{at}", text)


def find_storage_fault(storage: Mapping[str, Any], layers: ConfigLayers) -> str | None:
    """Why no experiment in any pool may use a checkpoint storage; None if one may."""
    needs = list(needs_of(typed_containers({"checkpoint_storage": storage})))
    faults = [
        limits_of(container_defaults(layers, pool), layers.checkpoint_storage).faults(needs)
        for pool in layers.pools or ("",)
    ]
    return faults[0][0][1] if all(faults) else None


def chosen_pool(
    resources: Mapping[str, Any], slots: int | None, layers: ConfigLayers, report: ProblemReport
) -> tuple[str, PoolLayer]:
    """The pool that a task runs in, and its layer: the default for its slots unless named."""
    pool = resources.get("resource_pool")
    if not pool:
        pool = layers.default_aux_pool if slots == 0 else layers.default_compute_pool
        if not pool:
            kind = "aux" if slots == 0 else "compute"
            text = (
                f"no default resource pool set for {kind} tasks: name one of "
                f"{', '.join(sorted(layers.pools))}"
            )
            bare = f"invalid resource configuration: {text}"
            report.problem(f"{ROOT}.resources.resource_pool", text, bare=bare)
            return "", PoolLayer()
    layer = layers.pools.get(pool)
    if layer is None and layers.pools:
        text = (
            f"resource pool {pool} does not exist or is not available to workspace id "
            f"{layers.workspace_id}; available: {', '.join(sorted(layers.pools))}"
        )
        bare = f"invalid resource configuration: {text}"
        report.problem(f"{ROOT}.resources.resource_pool", text, bare=bare)
    return pool, layer or PoolLayer()


def as_experiment(defaults: Mapping[str, Any], *, has_slots: bool) -> dict[str, Any]:
    """The part of `task_container_defaults` that applies to an experiment."""
    environment = {
        key: defaults.get(key)
        for key in (
            "image",
            "environment_variables",
            "force_pull_image",
            "registry_auth",
            "add_capabilities",
            "drop_capabilities",
        )
    }
    environment["pod_spec"] = defaults.get("gpu_pod_spec" if has_slots else "cpu_pod_spec")
    partial = {
        "environment": {key: item for key, item in environment.items() if item is not None},
        "resources": {"devices": defaults.get("devices")},
        **{
            key: defaults.get(key)
            for key in ("bind_mounts", "slurm", "pbs", "log_policies", "preemption_timeout")
        },
    }
    return {key: item for key, item in partial.items() if item is not None}
