"""A master without agents: every service on a real database, and the engine at work.

No pool plans anything, so what is submitted stays queued; tests that need a running container
use `tests/scenarios`.
"""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import AsyncIterator, Mapping, Sequence
from typing import Any, cast

from determined_master import clock
from determined_master.backends.agents.registry import switched
from determined_master.backends.object_storage import ObjectStorage
from determined_master.domain.access import Caller
from determined_master.domain.agent_switches import Switches
from determined_master.engine import Engine
from determined_master.engine.kinds import KINDS
from determined_master.pools.live import LiveAllocations
from determined_master.pools.loops import PoolLoops
from determined_master.ports import AgentSnapshot, StartOrder
from determined_master.services.agent_switches import AgentSwitches
from determined_master.services.agents import Agents
from determined_master.services.allocations import Allocations
from determined_master.services.auth import Auth
from determined_master.services.bootstrap import bootstrap
from determined_master.services.catalog import Services
from determined_master.services.checkpoint_files import CheckpointFiles
from determined_master.services.checkpoints import Checkpoints
from determined_master.services.cluster_messages import ClusterMessages
from determined_master.services.collections import Collections
from determined_master.services.container_specs import ContainerSpecs
from determined_master.services.continuations import Continuations
from determined_master.services.defaults import config_layers, pool_configs, task_defaults
from determined_master.services.detached import Detached
from determined_master.services.effects.allocations import AllocationEffects
from determined_master.services.effects.collections import CollectionEffects
from determined_master.services.effects.experiments import ExperimentEffects
from determined_master.services.effects.trials import TrialEffects
from determined_master.services.experiment_bulk import ExperimentBulk
from determined_master.services.experiment_configs import ExperimentConfigs
from determined_master.services.experiment_edits import ExperimentEdits
from determined_master.services.experiment_lists import ExperimentLists
from determined_master.services.experiment_search import ExperimentSearch
from determined_master.services.experiments import Experiments
from determined_master.services.identities import Identities
from determined_master.services.job_changes import JobChanges
from determined_master.services.job_queue import JobQueue
from determined_master.services.job_terms import JobTermsSync
from determined_master.services.job_why import JobWhy
from determined_master.services.log_policies import LogPolicies
from determined_master.services.log_retention import LogRetention
from determined_master.services.master import Master, MasterFacts
from determined_master.services.metric_flush import Flusher
from determined_master.services.metrics import Metrics
from determined_master.services.model_files import ModelFiles
from determined_master.services.model_versions import ModelVersions
from determined_master.services.models import Models
from determined_master.services.passwords import Passwords
from determined_master.services.pools import Pools
from determined_master.services.project_columns import ProjectColumns
from determined_master.services.project_deletions import ProjectDeletions
from determined_master.services.projects import Projects
from determined_master.services.run_bulk import RunBulk
from determined_master.services.runs import Runs
from determined_master.services.search_previews import SearchPreviews
from determined_master.services.series import SeriesReads
from determined_master.services.stories import Stories
from determined_master.services.task_control import TaskControl
from determined_master.services.task_logs import TaskLogs
from determined_master.services.tasks import Tasks
from determined_master.services.templates import Templates
from determined_master.services.tokens import TaskTokens
from determined_master.services.trial_sources import TrialSources
from determined_master.services.trials import Trials
from determined_master.services.users import Users
from determined_master.services.workspaces import Workspaces
from determined_master.settings import Settings
from determined_master.store import task_logs
from determined_master.store.pool import Address, Pool
from determined_wire.agent_link import Device

PASSWORD = "Secret-1234"
MASTER_ID = "1d1c5a5e-4d1a-4f0b-9d57-0e0f4c6f6a01"
ADMIN = Caller(user_id=1, username="admin", is_admin=True)


class OneAgent:
    """A `ClusterBackend` with one agent of one CPU slot that takes every order."""

    def __init__(self) -> None:
        self.orders: list[StartOrder] = []
        self._switches: Mapping[str, Switches] = {}

    def set_switches(self, switches: Mapping[str, Switches]) -> None:
        """What is switched off."""
        self._switches = switches

    def agents(self) -> Sequence[AgentSnapshot]:
        device = Device(id=0, brand="cpu x 2 cores", uuid="GenuineIntel", type="cpu")
        agent = AgentSnapshot(
            id="a1",
            pool="default",
            hostname="a1",
            address="127.0.0.1",
            devices=(device,),
            is_connected=True,
            registered_at=clock.now(),
            version="0.39.0",
        )
        return [switched(agent, self._switches)]

    async def start_container(self, order: StartOrder) -> None:
        """Nothing starts; tests post what the agent would report."""
        self.orders.append(order)

    async def signal_container(self, agent_id: str, container_id: str, signal: int) -> None:
        """Nothing to signal."""

    async def forget_container(self, agent_id: str, container_id: str) -> None:
        """Nothing to forget."""


@contextlib.asynccontextmanager
async def running_services(
    address: Address, pool: Pool, passwords: Passwords
) -> AsyncIterator[tuple[Services, Engine]]:
    """All services and the engine, which leads while this lasts; metrics are flushed."""
    settings = Settings(checkpoint_storage={"type": "shared_fs", "host_path": "/tmp/storage"})
    cluster = await bootstrap(pool, passwords, PASSWORD, None)
    engine = Engine(address, pool, KINDS)
    live = LiveAllocations(lambda pool_name: None)
    identities = Identities(pool)
    tokens = TaskTokens(cluster.secret)
    flusher = Flusher(pool)
    logs = TaskLogs(pool, LogPolicies(engine, pool))
    backend = OneAgent()
    configs = ExperimentConfigs(pool, config_layers(settings, None))
    layers = config_layers(settings, None)
    ExperimentEffects(engine, pool).register()
    TrialEffects(engine, pool, tokens).register()
    collections = Collections(engine, pool)
    deletions = ProjectDeletions(engine, pool)
    CollectionEffects(engine, pool, tokens, collections, "default").register()
    specs = ContainerSpecs(pool, tokens, task_defaults(settings))
    AllocationEffects(engine, backend, specs).register()
    engine.feed.listen("allocation", lambda change: live.changed(change.state, change.version))
    async with pool.acquire() as conn:
        await task_logs.ensure_partitions(conn, clock.now().date())
    facts = MasterFacts(version="0.39.0", master_id=MASTER_ID, cluster_id=cluster.cluster_id)
    async with asyncio.TaskGroup() as group:
        loops = (engine.run(), flusher.run(), deletions.run())
        running = [group.create_task(loop) for loop in loops]
        await engine.wait_until_leading()
        pools = Pools(settings, backend, live)
        checkpoints = Checkpoints(pool)
        checkpoint_files = CheckpointFiles(pool, checkpoints, ObjectStorage())
        trials = Trials(engine, pool, live, flusher.summaries)
        experiments = Experiments(engine, pool, configs, pools)
        tasks = Tasks(pool)
        lists = ExperimentLists(pool)
        detached = Detached(engine, pool)
        terms = JobTermsSync(engine, pool, live)
        queue = JobQueue(pool, live, pools)
        loops = PoolLoops(pool_configs(settings), engine, backend.agents, live)
        services = Services(
            auth=Auth(pool, passwords, identities),
            users=Users(pool, passwords, identities),
            master=Master(facts, pool, settings.masked),
            identities=identities,
            cluster_messages=ClusterMessages(pool),
            experiments=experiments,
            model_files=ModelFiles(experiments),
            experiment_lists=lists,
            experiment_search=ExperimentSearch(pool, lists, trials),
            runs=Runs(pool, live),
            run_bulk=RunBulk(pool),
            project_columns=ProjectColumns(pool),
            series=SeriesReads(pool, flusher.points),
            experiment_edits=ExperimentEdits(pool, collections, terms),
            job_queue=queue,
            job_changes=JobChanges(pool, queue, pools, terms),
            job_terms=terms,
            job_why=JobWhy(pool, live, loops.decision),
            experiment_bulk=ExperimentBulk(pool),
            continuations=Continuations(engine, pool, configs),
            trials=trials,
            detached=detached,
            metrics=Metrics(engine, pool, flusher, detached.note_report),
            checkpoints=checkpoints,
            checkpoint_files=checkpoint_files,
            collections=collections,
            task_logs=logs,
            log_retention=LogRetention(pool, None, None),
            tasks=tasks,
            task_control=TaskControl(tasks, trials, experiments, live),
            templates=Templates(pool),
            models=Models(pool),
            model_versions=ModelVersions(pool),
            trial_sources=TrialSources(pool),
            allocations=Allocations(engine, pool, live),
            agents=Agents(backend, live, cluster.join_token),
            agent_switches=AgentSwitches(engine, pool, backend, live, lambda _: None),
            search_previews=SearchPreviews(layers),
            pools=pools,
            workspaces=Workspaces(pool, pools, deletions),
            projects=Projects(pool, deletions),
            stories=Stories(pool),
            live=live,
            serve_agent=cast(Any, None),
        )
        yield services, engine
        checkpoint_files.close()
        for task in running:
            task.cancel()
