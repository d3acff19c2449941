"""Routes for Prometheus: the master's process, the state of the cluster, and where agents are.

They can be switched off (`observability.enable_prometheus`). A scraper needs a token, such as an
access token of a user without rights of its own.
"""

from __future__ import annotations

import asyncio
from collections import Counter
from collections.abc import Callable, Iterator, Sequence

import prometheus_client as prometheus
from prometheus_client.core import GaugeMetricFamily
from prometheus_client.registry import Collector

from determined_master.api.http.access import FILTERED, SIGNED_IN
from determined_master.api.http.routes import Call, Reply, plain_route
from determined_master.domain.allocation.messages import Allocation
from determined_master.domain.errors import NotFound
from determined_master.pools.live import LiveAllocations
from determined_master.ports.agents import AgentSnapshot
from determined_master.services.access.guard import Guard
from determined_master.services.cluster.agents import Agents
from determined_master.services.cluster.master import Master
from determined_master.services.cluster.user_storage import StoredBytes, UserStorage

EXPORTER_PORTS = (9400, 8080)
"""Where NVIDIA's DCGM exporter and cAdvisor listen on the agents' machines."""
_GPUS = ("cuda", "rocm")
_AGENT = ("agent_id", "resource_pool")
_CONTAINER = ("container_id", "allocation_id", "task_id", "task_type", "job_id", "experiment_id",
              "trial_id", *_AGENT)  # fmt: skip


@plain_route("GET", "/debug/prom/metrics", access=SIGNED_IN)
async def process_metrics(call: Call, master: Master) -> Reply:
    """Memory, processor time and open files of the master's process."""
    _check_enabled(master)
    return _text(await asyncio.to_thread(prometheus.generate_latest, prometheus.REGISTRY))


@plain_route("GET", "/prom/det-state-metrics", access=FILTERED)
async def state_metrics(
    call: Call,
    master: Master,
    agents: Agents,
    live: LiveAllocations,
    guard: Guard,
    storage: UserStorage,
) -> Reply:
    """Agents, slots and the queue; which task each container is of, for tasks the caller sees.

    Admins also get the users whose work takes much of the database.
    """
    _check_enabled(master)
    allocations = list(live.values())
    seen = await guard.seen(call.caller, "allocation", [a.id for a in allocations])
    age_s = master.oldest_effect_age_s()
    large = storage.large if call.caller.is_admin else ()
    state = _State(await agents.list_all(call.caller), allocations, seen, age_s, large)
    registry = prometheus.CollectorRegistry(auto_describe=False)
    registry.register(state)
    return _text(await asyncio.to_thread(prometheus.generate_latest, registry))


@plain_route("GET", "/prom/det-http-sd-config", access=SIGNED_IN)
async def scrape_targets(call: Call, master: Master, agents: Agents) -> list[dict[str, object]]:
    """The exporters on the agents' machines, for Prometheus' HTTP service discovery."""
    _check_enabled(master)
    return [
        {
            "targets": [f"{agent.address}:{port}" for port in EXPORTER_PORTS],
            "labels": {"det_agent_id": agent.id, "det_resource_pool": agent.pool},
        }
        for agent in await agents.list_all(call.caller)
        if agent.is_connected and agent.address
    ]


class _State(Collector):
    """The state of the cluster at one moment."""

    def __init__(
        self,
        agents: Sequence[AgentSnapshot],
        allocations: Sequence[Allocation],
        seen: set[str],
        oldest_effect_age_s: float | None,
        large_users: Sequence[StoredBytes],
    ) -> None:
        self._large_users = large_users
        self._oldest_effect_age_s = oldest_effect_age_s
        self._agents = agents
        self._allocations = allocations
        self._seen = seen

    def collect(self) -> Iterator[GaugeMetricFamily]:
        pools = {agent.id: agent.pool for agent in self._agents}
        gpus = {
            (agent.id, device.id): device.uuid
            for agent in self._agents
            for device in agent.devices
            if device.type in _GPUS and device.uuid
        }
        used: Counter[str] = Counter()
        queue: Counter[tuple[str, str]] = Counter()
        containers = GaugeMetricFamily(
            "det_container", "The task of a container", labels=_CONTAINER
        )
        used_gpus = GaugeMetricFamily(
            "det_container_gpu", "The task of a GPU", labels=(*_CONTAINER, "gpu_uuid")
        )
        for allocation in self._allocations:
            request = allocation.request
            queue[request.pool, allocation.state] += 1
            for container in allocation.containers:
                if container.state == "TERMINATED":
                    continue
                used[container.agent_id] += len(container.slot_ids)
                if allocation.id in self._seen:
                    of_trial = (request.experiment_id or "", request.trial_id or "")
                    pool = pools.get(container.agent_id, request.pool)
                    values = (container.id, allocation.id, request.task_id, request.task_type,
                              request.job_id, *of_trial, container.agent_id, pool)  # fmt: skip
                    labels = [str(value) for value in values]
                    containers.add_metric(labels, 1)
                    for slot in container.slot_ids:
                        if uuid := gpus.get((container.agent_id, slot)):
                            used_gpus.add_metric([*labels, uuid], 1)
        yield containers
        yield used_gpus
        yield from self._of_agents(used)
        allocations = GaugeMetricFamily(
            "det_allocations", "Open allocations", labels=("resource_pool", "state")
        )
        for (pool, state), count in sorted(queue.items()):
            allocations.add_metric([pool, state], count)
        yield allocations
        stored = GaugeMetricFamily(
            "det_user_stored_bytes", "The database's share of a large user", labels=("username",)
        )
        for user in self._large_users:
            stored.add_metric([user.username], user.bytes)
        yield stored
        age = "Age of the oldest effect that waits for nothing"
        if self._oldest_effect_age_s is not None:
            yield GaugeMetricFamily(
                "det_oldest_effect_age_seconds", age, value=self._oldest_effect_age_s
            )

    def _of_agents(self, used: Counter[str]) -> Iterator[GaugeMetricFamily]:
        gauges: Sequence[tuple[str, str, Callable[[AgentSnapshot], float]]] = (
            ("connected", "Whether an agent is connected", lambda a: a.is_connected),
            ("enabled", "Whether an agent takes new work", lambda a: a.is_enabled),
            ("draining", "Whether an agent lets its work end", lambda a: a.is_draining),
            ("slots", "Slots of an agent", lambda a: len(a.devices)),
            ("slots_used", "Slots of an agent that tasks have", lambda a: used[a.id]),
        )
        for name, help_, value in gauges:
            family = GaugeMetricFamily(f"det_agent_{name}", help_, labels=_AGENT)
            for agent in self._agents:
                family.add_metric([agent.id, agent.pool], value(agent))
            yield family


def _check_enabled(master: Master) -> None:
    if not master.has_prometheus():
        raise NotFound(
            "metrics for Prometheus are switched off: set observability.enable_prometheus"
        )


def _text(body: bytes) -> Reply:
    return Reply(body, content_type=prometheus.CONTENT_TYPE_LATEST)
