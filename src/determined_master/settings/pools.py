"""Settings of resource pools, of their schedulers and of the tasks' defaults."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Annotated, Any, Literal

import msgspec
from msgspec import Meta

from determined_master.domain.config.layers import (
    DEFAULT_PREEMPTION_TIMEOUT_S,
    DEFAULT_SHM_BYTES,
    TASK_CONTAINER_DEFAULTS,
)
from determined_master.domain.config.sections.storage import MASTER_STORAGE
from determined_master.settings.providers.kinds import ProviderKind
from determined_master.settings.providers.provider import Provider
from determined_master.settings.reader import Seconds
from determined_wire.masking import mask_secrets

Struct = msgspec.Struct


def shown_storage(section: Mapping[str, Any] | None) -> dict[str, Any] | None:
    """`checkpoint_storage` as admins see it: every key of its type."""
    if section is None:
        return None
    variant = MASTER_STORAGE.variants.get(section.get("type", ""))
    fields = variant.fields if variant else {}
    always = {key: None for key, field in fields.items() if not field.is_hidden_when_null}
    return {**always, **mask_secrets(section)}


def shown_defaults(section: Mapping[str, Any]) -> dict[str, Any]:
    """`task_container_defaults` as admins see them, with the values in force."""
    always: dict[str, Any] = {
        "add_capabilities": None,
        "bind_mounts": None,
        "checkpoint_gc_pod_spec": None,
        "cpu_pod_spec": None,
        "devices": None,
        "drop_capabilities": None,
        "gpu_pod_spec": None,
        "kubernetes": None,
        "log_policies": None,
        "network_mode": "bridge",
        "pbs": {},
        "preemption_timeout": DEFAULT_PREEMPTION_TIMEOUT_S,
        "shm_size_bytes": DEFAULT_SHM_BYTES,
        "slurm": {},
        "startup_hook": "",
        "work_dir": None,
    }
    return {**always, **mask_secrets(section)}


ContainerDefaults = Annotated[
    dict[str, Any],
    Meta(
        description="Defaults for containers.",
        extra={"kind": TASK_CONTAINER_DEFAULTS, "shown": shown_defaults},
    ),
]


class Scheduler(Struct, frozen=True, kw_only=True):
    """The order of the queue."""

    type: Annotated[
        Literal["priority", "fair_share", "round_robin", "kubernetes", "kueue"],
        Meta(
            description=(
                "fair_share is deprecated, round_robin is removed; only pools of a Kubernetes "
                "manager use kubernetes, and kueue, where that program admits tasks."
            )
        ),
    ] = "priority"
    queue_name: Annotated[
        str, Meta(description="kueue: the LocalQueue in the namespace of the tasks; needed.")
    ] = ""
    priority_class: Annotated[
        str,
        Meta(
            description="kueue: a WorkloadPriorityClass; empty for the priority of the task's job."
        ),
    ] = ""
    fitting_policy: Annotated[
        Literal["best", "worst"],
        Meta(description="best fills an agent before it uses another, worst spreads."),
    ] = "best"
    allow_heterogeneous_fits: Annotated[
        bool, Meta(description="Whether one trial may use agents of different sizes.")
    ] = False
    preemption: Annotated[
        bool, Meta(description="Whether a more urgent task may preempt a less urgent one.")
    ] = False
    default_priority: Annotated[
        Annotated[int, Meta(ge=1, le=99)] | None,
        Meta(
            description=(
                "Of tasks that set none. Default: 42, where 1 is the most urgent; in pools of a "
                "Kubernetes manager 50, where 99 is."
            )
        ),
    ] = None
    gang_patience_s: Annotated[
        Seconds,
        Meta(
            description=(
                "How long later requests may pass one for several slots; afterwards agents are "
                "drained for it."
            )
        ),
    ] = msgspec.field(default=600.0, name="gang_patience")


class AnyResourceManager(Struct, frozen=True, kw_only=True):
    """Any container backend; `type` selects it."""

    type: Annotated[
        str,
        Meta(description="The container backend: agent, or kubernetes, with the options below."),
    ] = "agent"
    cluster_name: Annotated[
        str, Meta(description="Name of this resource manager; additional ones need one.")
    ] = ""
    name: Annotated[str, Meta(description="Older name of cluster_name.")] = ""
    metadata: Annotated[
        dict[str, Any] | None, Meta(description="Free text by key; shown with its pools.")
    ] = None
    default_aux_resource_pool: Annotated[str, Meta(description="Pool of tasks without slots.")] = (
        "default"
    )
    default_compute_resource_pool: Annotated[
        str, Meta(description="Pool of tasks with slots.")
    ] = "default"
    no_default_resource_pools: Annotated[
        bool, Meta(description="Whether every task must name its pool; only with Kubernetes.")
    ] = False


class ResourceManager(AnyResourceManager, frozen=True, kw_only=True):
    """Agents that connect to the master and run containers."""

    cluster_name: Annotated[str, Meta(description="Name of this resource manager.")] = "default"
    scheduler: Scheduler = Scheduler()
    require_authentication: Annotated[
        bool, Meta(description="Whether agents must show a certificate; needs HTTPS.")
    ] = False
    client_ca: Annotated[
        str, Meta(description="File of the authorities that sign agents' certificates.")
    ] = ""
    verify_agent_ids: Annotated[
        bool,
        Meta(
            description="Whether an agent's certificate must name its id, as its common name or "
            "one of its DNS names."
        ),
    ] = False


class ResourcePool(Struct, frozen=True, kw_only=True):
    """Agents that take tasks from one queue."""

    pool_name: Annotated[str, Meta(description="Unique.")] = "default"
    description: str = ""
    max_aux_containers_per_agent: Annotated[
        int, Meta(ge=0, description="Tasks without slots that one agent runs at once.")
    ] = 100
    agent_reconnect_wait_s: Seconds = msgspec.field(default=25.0, name="agent_reconnect_wait")
    agent_reattach_enabled: bool = True
    task_container_defaults: ContainerDefaults = msgspec.field(default_factory=dict)
    scheduler: Scheduler | None = None
    provider: Annotated[
        Provider | None,
        Meta(
            description="Machines that are started on demand.",
            extra={"kind": ProviderKind()},
        ),
    ] = None


POOLS = (ResourcePool(),)
