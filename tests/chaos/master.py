"""A master process: its real parts, joined as `determined_master.app` joins them."""

from __future__ import annotations

import asyncio
import os
from collections.abc import Callable, Sequence
from typing import Any

import msgspec
from tests.chaos.loop import Process, SimLoop
from tests.chaos.server import Server, SimPool, Statement, statement
from tests.log_searches import searches_in

from determined_master import clock
from determined_master.aggregates import KINDS
from determined_master.aggregates.allocations import ALLOCATION
from determined_master.aggregates.experiments import EXPERIMENT
from determined_master.backends.agents.backend import AgentBackend, MasterIdentity
from determined_master.composition.leader_tasks import LeaderTasks
from determined_master.domain.allocation import messages as alloc
from determined_master.domain.config.layers import ConfigLayers, PoolLayer
from determined_master.domain.errors import DetError, FailedPrecondition
from determined_master.domain.experiment.messages import ValidationReported
from determined_master.domain.states import TERMINAL
from determined_master.engine import Changed, Engine, EngineSettings, Rows
from determined_master.pools.live import LiveAllocations
from determined_master.pools.loop import PoolDecision
from determined_master.pools.loops import PoolLoops
from determined_master.services.access.task_tokens import TaskTokens
from determined_master.services.checkpoints.effects import GcEffects
from determined_master.services.checkpoints.gc import CheckpointGc
from determined_master.services.checkpoints.service import Checkpoints
from determined_master.services.cluster.admission import Join, JoinRules
from determined_master.services.cluster.agent_switches import AgentSwitches
from determined_master.services.cluster.agents import AgentReports
from determined_master.services.cluster.pools import Pools
from determined_master.services.configs.defaults import pool_configs
from determined_master.services.experiments.configs import ExperimentConfigs
from determined_master.services.experiments.effects import ExperimentEffects
from determined_master.services.experiments.service import Experiments
from determined_master.services.experiments.trial_effects import TrialEffects
from determined_master.services.logs.policies import LogPolicyMatcher
from determined_master.services.logs.task_logs import TaskLogs
from determined_master.services.queue.job_terms import JobTermsSync
from determined_master.services.tasks.allocation_effects import AllocationEffects
from determined_master.services.tasks.allocations import Allocations
from determined_master.settings.master import Settings
from determined_master.store.db import Conn
from determined_master.store.experiments import experiments as experiment_rows
from determined_master.store.queue import job_queue
from determined_master.store.row_locks import lock_rows
from determined_master.sweeps.periodic import keep_running
from determined_wire.agent_link import ContainerSpec

RECONNECT_WAIT_S = 25.0
HALVING = ("adaptive_asha", "async_halving", "asha")


class Validation(msgspec.Struct, frozen=True):
    """What a trial says of one step."""

    trial_id: int
    run_id: int
    steps: int
    metric: float


class Master:
    """One master process, from its start to its death."""

    def __init__(
        self,
        loop: SimLoop,
        server: Server,
        settings: Settings,
        tell: Callable[[PoolDecision], None],
        name: str,
    ) -> None:
        self.process = Process(name, loop)
        self.process.call(self._join, server, settings, tell)
        self.process.spawn(self._run())

    async def endpoint(self, scope: Any, receive: Any, send: Any) -> None:
        """Serve an agent's socket."""
        await self.admission.endpoint(scope, receive, send)

    def _join(
        self, server: Server, settings: Settings, tell: Callable[[PoolDecision], None]
    ) -> None:
        pool: Any = SimPool(server)

        async def connect() -> Any:
            await asyncio.sleep(server.latency_s())
            return server.connect()

        quick = EngineSettings(sweep_s=60.0)
        self.pool = pool
        self.engine = engine = Engine(
            None,  # type: ignore[arg-type]  # nothing reads it: both ways to connect are given
            pool,
            KINDS,
            settings=quick,
            now=lambda: clock.now(),  # simulated only while the history runs
            connect=connect,
        )
        self.live = live = LiveAllocations(self._trigger_planning)
        policies = LogPolicyMatcher(engine, pool)
        self.logs = TaskLogs(pool, [policies], searches_in(pool))
        identity = MasterIdentity(
            master_id=self.process.name, cluster_id="c", cluster_name="c", version="sim"
        )
        names = [p.pool_name for p in settings.resource_pools]
        rules = JoinRules(is_open=True, allow_process_runtime=True, pools=names)
        self.admission = AgentBackend(
            identity,
            AgentReports(engine, live, self.logs, self._trigger_planning),
            Join(rules, pool, b"secret"),
            reconnect_wait_s=lambda _: RECONNECT_WAIT_S,
        )
        pools = Pools(settings, self.admission, live)
        self.pool_loops = PoolLoops(
            pool_configs(settings), engine, self.admission.agents, live, tell
        )
        self.terms = JobTermsSync(engine, pool, live)
        self.switches = AgentSwitches(engine, pool, self.admission, live, self._trigger_planning)
        tokens, collections = TaskTokens(b"secret"), CheckpointGc(engine, pool)
        ExperimentEffects(engine, pool, live, 100).register()
        TrialEffects(engine, pool, tokens, pools).register()
        GcEffects(engine, pool, tokens, collections, names[0]).register()
        specs: Any = SimSpecs()
        AllocationEffects(engine, self.admission, specs, policies).register()
        configs = ExperimentConfigs(pool, _layers(settings))
        self.experiments = Experiments(engine, pool, configs, pools)
        self.allocations = Allocations(engine, pool, live)
        self.checkpoints = Checkpoints(pool)
        self._pools = pools
        engine.feed.listen(ALLOCATION, self._on_allocation)

    async def _run(self) -> None:
        switches, engine = self.switches, self.engine
        lead = LeaderTasks(engine, self.pool, self.live, self.admission, switches, self.terms)
        async with asyncio.TaskGroup() as group:
            group.create_task(engine.run())
            await engine.wait_until_leading(timeout_s=None)
            group.create_task(self.pool_loops.run())
            group.create_task(keep_running(lead.enforce_settings))
            group.create_task(keep_running(lead.repeat_terms))
            await lead.admit_agents()

    async def change_place(
        self, experiment_id: int, *, pool: str | None = None, **resources: Any
    ) -> None:
        """What `JobChanges` does, by the experiment's id."""
        async with self.pool.acquire() as conn, conn.transaction():
            row = await experiment_rows.lock_experiment(conn, experiment_id)
            if row is None or row.state in TERMINAL:
                return
            changed = {**row.config["resources"], **resources}
            if pool is not None:
                self._pools.check_fit(pool, int(changed["slots_per_trial"]))
                changed["resource_pool"] = pool
            place: Any = {"pool": pool or row.resource_pool, "position": None}
            await job_queue.update_place(conn, experiment_id, resources=changed, **place)
        await self.terms.sync([row.job_id])

    async def report(self, validation: Validation) -> None:
        """What `Metrics` does with a validation: its row and the event for a search, together."""
        async with self.pool.acquire() as conn:
            [owner] = await conn.fetch(FIND_OWNER, validation.trial_id)
        rows = Rows(REPORTS, validation, [validation.trial_id])
        if owner["searcher_type"] not in HALVING:
            async with self.pool.acquire() as conn, conn.transaction():
                [error] = await REPORTS.write(conn, [validation])
                if error is not None:
                    raise error
            return
        event = ValidationReported(
            request_id=owner["request_id"],
            metric=validation.metric,
            time=float(validation.steps),
            reported=("loss",),
        )
        v = validation
        cause = f"validation:{v.trial_id}:{v.run_id}:{v.steps}"
        experiment_id = str(owner["experiment_id"])
        await self.engine.post(EXPERIMENT, experiment_id, event, cause=cause, within=rows)

    def _trigger_planning(self, pool: str) -> None:
        self.pool_loops.trigger_planning(pool)

    def _on_allocation(self, change: Changed) -> None:
        self.live.changed(change.state, change.version)
        self.logs.notify(change.state.request.task_id)


class SimSpecs:
    """Stands for `ContainerSpecs`: simulated machines run no image."""

    async def build(
        self, state: alloc.Allocation, containers: Sequence[alloc.StartContainer], *_: Any
    ) -> list[ContainerSpec]:
        """Who they are, in their environments."""
        return [_spec(state, container.rank) for container in containers]


def _spec(state: alloc.Allocation, rank: int) -> ContainerSpec:
    request = state.request
    return ContainerSpec(
        task_id=request.task_id,
        task_type=request.task_type,
        description=request.name,
        entrypoint=("python3",),
        environment={
            "ALLOCATION": state.id,
            "TRIAL": str(request.trial_id or 0),
            "EXPERIMENT": str(request.experiment_id or 0),
            "RANK": str(rank),
        },
        work_dir=os.curdir,
    )


FIND_OWNER = "which experiment and search a trial belongs to"
INSERT_REPORT = "a report's row"


class ReportRows:
    """Writes reports, each once; those of a run that is not the latest are refused."""

    async def write(self, conn: Conn, items: Sequence[Validation]) -> Sequence[DetError | None]:
        """None, or why not, for each."""
        await lock_rows(conn, sorted({v.trial_id for v in items}))
        refusals: list[DetError | None] = []
        for v in items:
            stored = await conn.fetchval(INSERT_REPORT, v.trial_id, v.run_id, v.steps, v.metric)
            refusals.append(None if stored else FailedPrecondition("only the latest run may"))
        return refusals


REPORTS = ReportRows()


@statement("tests.chaos.master.Master.report")
async def find_owner(s: Statement) -> list[Any]:
    """Of a trial."""
    trial = s.tx.get("trials", s.args[0])
    assert trial is not None
    experiment = s.tx.get("experiments", trial["experiment_id"])
    assert experiment is not None
    owner = {n: trial[n] for n in ("request_id", "experiment_id")}
    return [{**owner, "searcher_type": experiment["searcher_type"]}]


@statement("tests.chaos.master.ReportRows.write")
async def insert_report(s: Statement) -> list[Any]:
    """A report of the latest run."""
    trial_id, run_id, steps, metric = s.args
    trial = s.tx.get("trials", trial_id)
    assert trial is not None
    if trial["run_id"] != run_id:
        return [{"is_stored": False}]
    key = (trial_id, run_id, steps)
    if s.tx.get("reports", key) is None:
        await s.tx.insert("reports", key, {"metric": metric})
    return [{"is_stored": True}]


def _layers(settings: Settings) -> ConfigLayers:
    return ConfigLayers(
        pools={
            p.pool_name: PoolLayer(default_priority=settings.scheduler_of(p).default_priority or 0)
            for p in settings.resource_pools
        },
        checkpoint_storage={"type": "shared_fs", "host_path": "/checkpoints"},
    )
