"""A pool of a Kubernetes cluster: its plans follow the pod specs of its tasks."""

from __future__ import annotations

from collections.abc import Callable
from datetime import timedelta
from decimal import Decimal
from typing import Any

from msgspec.structs import replace
from tests.domain.builders import alloc, run, running, waiting
from tests.pools.test_live import live, snapshot
from tests.pools.test_loop import Engine
from tests.pools.test_placement_backoff import unplaced

from determined_master import clock
from determined_master.domain.config.sections.resources import TopologyConfig
from determined_master.domain.pods.limit_ranges import ResourceDefaults
from determined_master.domain.pods.placement import ClusterLoads, NodeFacts, NodeLoad
from determined_master.domain.pods.quotas import QuotaFacts
from determined_master.domain.schedule.why import explain
from determined_master.pools import pod_specs
from determined_master.pools.live import LiveAllocations
from determined_master.pools.loop import PoolConfig, PoolLoop
from determined_master.pools.pod_placement import PodPlacement
from determined_master.pools.pod_specs import PodSpecs
from determined_master.ports.kubernetes import NodeRequest, NodesAsked
from determined_master.ports.orders import PodTerms

H100 = {"gpu-type": "h100"}
ON_A = (alloc.Placed(container_id="c-a", agent_id="a", slot_ids=(0,)),)


def loads(**labels: dict[str, str]) -> ClusterLoads:
    offered = {"cpu": Decimal(4), "memory": Decimal(16), "pods": Decimal(9)}
    nodes = {
        name: NodeLoad(NodeFacts(name=name, labels=own, allocatable=offered))
        for name, own in labels.items()
    }
    return ClusterLoads(nodes, {"cpu": Decimal(1)})


class Specs:
    """The pod specs of jobs, and which allocations they were read for."""

    def __init__(self, **by_job: dict[str, Any]) -> None:
        self.by_job = by_job
        self.namespace = ""
        self.topology: TopologyConfig | None = None
        self.read: list[str] = []

    async def __call__(self, allocation: alloc.Allocation) -> PodTerms | None:
        self.read.append(allocation.id)
        spec = self.by_job.get(allocation.request.job_id)
        return PodTerms(
            pod_spec=None if spec is None else {"spec": spec},
            namespace=self.namespace,
            topology=self.topology,
        )


class Cluster:
    """A cluster, and the nodes that it is asked for."""

    def __init__(self, loads: Callable[[], ClusterLoads]) -> None:
        self.loads = loads
        self.most_placeholders = 3
        self.asked: dict[str, list[tuple[str, tuple[int, ...]]]] = {}
        self.asked_for: set[str] = set()
        """Allocations."""
        self.has_placeholders = True

    def nodes_asked(self, allocation_id: str) -> NodesAsked | None:
        if allocation_id not in self.asked_for:
            return None
        return NodesAsked(at=clock.now(), pods=int(self.has_placeholders))

    def request_nodes(self, pool: str, requests: tuple[NodeRequest, ...]) -> None:
        self.asked[pool] = [(r.allocation_id, r.slots) for r in requests]


def loop_of(
    held: LiveAllocations,
    read: Specs,
    given: Callable[[], ClusterLoads],
    engine: Engine,
    cluster: Cluster | None = None,
) -> PoolLoop:
    specs = PodSpecs(held, frozenset({"default"}), read)
    placement = PodPlacement("default", held, cluster or Cluster(given), specs)  # type: ignore[arg-type]
    agents = [snapshot(name, 4) for name in given().nodes]
    config = PoolConfig("default")
    return PoolLoop(config, engine, lambda: agents, held, pods=placement)  # type: ignore[arg-type]


def asks(id: str, job_id: str = "job", **more: Any) -> alloc.Allocation:
    requested_at = more.pop("requested_at", clock.now())
    return replace(waiting(slots=1, job_id=job_id, requested_at=requested_at, **more), id=id)


def memory(amount: int) -> dict[str, Any]:
    resources = {"requests": {"memory": amount}}
    return {"containers": [{"name": "determined-container", "resources": resources}]}


def placed(engine: Engine) -> dict[str, list[str]]:
    return {id: [c.agent_id for c in event.containers] for id, event in engine.posted}


async def test_a_task_starts_where_its_pod_spec_allows_it() -> None:
    engine, read = Engine(), Specs(job={"nodeSelector": H100})
    pool = loop_of(live(asks("w.1")), read, lambda: loads(a={}, b=H100, c={}), engine)
    await pool.tick()
    assert placed(engine) == {"w.1": ["b"]}


async def test_pods_of_a_task_share_the_rack_that_it_requires() -> None:
    racks = {"a": "1", "b": "2", "c": "2"}
    engine, read = Engine(), Specs()
    read.topology = TopologyConfig(domain="rack", is_required=True)
    given = loads(**{name: {"rack": rack} for name, rack in racks.items()})
    given = replace(given, domain_labels={"rack": "rack"})
    gang = replace(waiting(slots=8, requested_at=clock.now()), id="w.1")
    pool = loop_of(live(gang), read, lambda: given, engine)
    await pool.tick()
    assert {node for node in placed(engine)["w.1"]} == {"b", "c"}


async def test_nodes_are_asked_for_while_a_task_waits_for_them() -> None:
    given = {"nodes": loads(a={})}
    cluster, engine = Cluster(lambda: given["nodes"]), Engine()
    long_ago = clock.now() - timedelta(minutes=1)
    held = live(asks("w.1", requested_at=long_ago), asks("w.2", "other"))
    read = Specs(job={"nodeSelector": H100})
    pool = loop_of(held, read, lambda: given["nodes"], engine, cluster)
    await pool.tick()
    assert placed(engine) == {"w.2": ["a"]}
    assert cluster.asked == {"default": [("w.1", (1,))]}
    held = live()
    await loop_of(held, read, lambda: given["nodes"], engine, cluster).tick()
    assert cluster.asked == {"default": []}


async def test_memory_of_what_runs_counts_whatever_its_slots() -> None:
    held = live(running("a", job_id="large"), asks("w.1", "small"), asks("w.2", "small"))
    engine, read = Engine(), Specs(large=memory(10), small=memory(8))
    pool = loop_of(held, read, lambda: loads(a={}, b={}), engine)
    await pool.tick()
    assert placed(engine) == {"w.1": ["b"], "w.2": ["b"]}
    engine, held = Engine(), live(running("a", job_id="large"), asks("w.1", "large"))
    pool = loop_of(held, read, lambda: loads(a={}), engine)
    await pool.tick()
    assert engine.posted == []
    assert pool.decision is not None
    why = explain(pool.decision.view, pool.decision.plan, "w.1")
    assert why is not None
    assert why.reason == (
        "waits for resources of its pod: 1 of 1 node has less than 10 of memory free"
    )


async def test_a_node_that_refused_a_pod_of_the_job_is_not_chosen_again_at_once() -> None:
    held = live(unplaced("a", "0.1"), asks("w.1"), asks("w.2", "other"))
    engine = Engine()
    pool = loop_of(held, Specs(), lambda: loads(a={}), engine)
    await pool.tick()
    assert placed(engine) == {"w.2": ["a"]}
    assert pool.decision is not None
    why = explain(pool.decision.view, pool.decision.plan, "w.1")
    assert why is not None
    assert "avoided for 60 s, because 0/2 nodes are available" in why.reason


async def test_the_spec_of_a_job_is_read_once_and_a_waiting_ones_again_later(
    monkeypatch: Any,
) -> None:
    now_s = 1000.0
    monkeypatch.setattr(clock, "monotonic_s", lambda: now_s)
    held = live(asks("w.1"), asks("w.2"), asks("x.1", "other"))
    read = Specs()
    specs = PodSpecs(held, frozenset({"default"}), read)
    assert await specs.refresh() is False
    assert len(read.read) == 2
    assert await specs.refresh() is False
    assert len(read.read) == 2
    now_s += pod_specs.FRESH_S + 1
    await specs.refresh()
    assert len(read.read) == 4


async def test_a_long_queue_is_read_in_parts_and_planned_as_far_as_it_is_known(
    monkeypatch: Any,
) -> None:
    monkeypatch.setattr(pod_specs, "MAX_READS", 1)
    held = live(asks("w.1", "one"), asks("w.2", "two"))
    engine = Engine()
    pool = loop_of(held, Specs(), lambda: loads(a={}), engine)
    await pool.tick()
    assert len(engine.posted) == 1
    await pool.tick()
    assert placed(engine).keys() == {"w.1", "w.2"}


async def test_pods_that_are_planned_and_not_created_yet_count_against_a_quota() -> None:
    few = QuotaFacts(namespace="lab", name="few", hard={"pods": Decimal(2)}, used={})
    given = replace(loads(a={}), quotas={"lab": (few,)})
    assigned = run(alloc.Assigned(containers=ON_A, at=clock.now()), state=asks("r.1", "one"))[0]
    held = live(assigned, asks("w.1", "two"), asks("w.2", "three"))
    engine, read = Engine(), Specs()
    read.namespace = "lab"
    pool = loop_of(held, read, lambda: given, engine)
    await pool.tick()
    assert placed(engine) == {"w.1": ["a"]}
    assert pool.decision is not None
    why = explain(pool.decision.view, pool.decision.plan, "w.2")
    assert why is not None
    assert "quota few of namespace lab has 2 of 2 pods in use" in why.reason


async def test_defaults_of_a_namespace_count_for_nodes() -> None:
    most = ResourceDefaults({}, {"memory": Decimal(17)})
    held, engine, read = live(asks("w.1"), asks("w.2", "small")), Engine(), Specs(small=memory(1))
    read.namespace = "lab"
    pool = loop_of(held, read, lambda: replace(loads(a={}), defaults={"lab": most}), engine)
    await pool.tick()
    assert placed(engine) == {"w.2": ["a"]}


async def test_the_placeholder_of_a_task_does_not_keep_it_from_starting_by_a_quota() -> None:
    used = {"pods": Decimal(1), "secrets": Decimal(0)}
    few = QuotaFacts(namespace="lab", name="few", hard={"pods": Decimal(1)}, used=used)
    given = replace(loads(a={}), quotas={"lab": (few,)})
    held = live(asks("w.1"), asks("w.2", "other"))
    read = Specs()
    read.namespace = "lab"
    cluster, engine = Cluster(lambda: given), Engine()
    cluster.asked_for.add("w.1")
    await loop_of(held, read, lambda: given, engine, cluster).tick()
    assert placed(engine) == {"w.1": ["a"]}
    full, engine = Cluster(lambda: given), Engine()
    await loop_of(held, read, lambda: given, engine, full).tick()
    assert placed(engine) == {}, "the pod of somebody else uses the quota up"
    cluster.has_placeholders, engine = False, Engine()
    await loop_of(held, read, lambda: given, engine, cluster).tick()
    assert placed(engine) == {}, "an object that asks for nodes is no pod"
