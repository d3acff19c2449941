"""The composition root: only here concrete parts are named and joined."""

from __future__ import annotations

import asyncio
import contextlib
import logging
from collections.abc import AsyncIterator
from pathlib import Path
from typing import TYPE_CHECKING

from determined_master import __version__, entropy
from determined_master.api.app import Api
from determined_master.api.table import all_routes
from determined_master.backends.agents.backend import AgentBackend, MasterIdentity
from determined_master.backends.object_storage import ObjectStorage
from determined_master.domain.errors import DetError
from determined_master.domain.states import TERMINAL
from determined_master.engine import Changed, Engine
from determined_master.engine.kinds import ALLOCATION, KINDS
from determined_master.pools.live import LiveAllocations
from determined_master.pools.loops import PoolLoops
from determined_master.pools.recorder import Recorder
from determined_master.services.agent_switches import AgentSwitches
from determined_master.services.agents import AgentReports, Agents, Join
from determined_master.services.allocations import Allocations
from determined_master.services.auth import Auth
from determined_master.services.bootstrap import Cluster
from determined_master.services.catalog import Services
from determined_master.services.checkpoint_files import CheckpointFiles
from determined_master.services.checkpoints import Checkpoints
from determined_master.services.cluster_messages import ClusterMessages
from determined_master.services.collection_waits import CollectionWaits
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
from determined_master.services.wait_lines import WaitLines
from determined_master.services.workspaces import Workspaces
from determined_master.store.embedded import EmbeddedServer
from determined_master.store.embedded_files import Layout, default_layout
from determined_master.store.errors import DataDirInUse
from determined_master.store.losses import DATABASE_ERRORS
from determined_master.store.migrate import migrate
from determined_master.store.pool import (
    Address,
    Pool,
    check_server,
    connect,
    embedded_address,
)
from determined_master.sweeps.collections import watch_collections
from determined_master.sweeps.maintenance import keep_house
from determined_master.sweeps.silence import watch_silence

if TYPE_CHECKING:
    from determined_master.settings import Settings

log = logging.getLogger(__name__)
DEFAULT_POOL = "default"
COMPARE_S = 10.0
"""Between comparisons of the live allocations with their rows."""
OPEN_ALLOCATIONS = """
    SELECT g.state, g.version FROM aggregates g JOIN allocations a ON a.id = g.id
     WHERE g.kind = 'allocation' AND a.ended_at IS NULL
"""


def secrets_dir(settings: Settings) -> Path | None:
    """Where the first password is written: beside our own database; None with the user's."""
    return None if settings.db.host else layout_of(settings).root.parent


def layout_of(settings: Settings) -> Layout:
    """Where the master's own PostgreSQL lies."""
    if settings.db.data_dir:
        return Layout(Path(settings.db.data_dir))
    return default_layout(settings.cluster_name or "determined")


@contextlib.asynccontextmanager
async def database(settings: Settings) -> AsyncIterator[Address]:
    """A database: the user's, or our own that runs as long as this does.

    It is migrated, but for `restore`, which needs an empty one. `backup` may use the server
    of a master that runs.
    """
    if settings.db.host:
        address = Address(
            host=settings.db.host,
            port=settings.db.port,
            user=settings.db.user,
            password=settings.db.password,
            database=settings.db.name,
            ssl_mode=settings.db.ssl_mode,
            ssl_root_cert=settings.db.ssl_root_cert or None,
        )
        await check_server(address)
        await _migrate(address, settings)
        yield address
        return
    server = EmbeddedServer(layout_of(settings))
    try:
        await server.start()
    except DataDirInUse:
        if settings.command not in ("backup", "simulate"):
            raise
        yield embedded_address(server.connection_options)
        return
    try:
        address = embedded_address(server.connection_options)
        await _migrate(address, settings)
        async with asyncio.TaskGroup() as group:
            supervisor = group.create_task(server.supervise())
            yield address
            supervisor.cancel()
    finally:
        await server.stop()


class App:
    """One master: its parts, joined."""

    def __init__(
        self,
        settings: Settings,
        address: Address,
        pool: Pool,
        cluster: Cluster,
        passwords: Passwords,
    ) -> None:
        self.settings = settings
        self._pool = pool
        tokens = TaskTokens(cluster.secret)
        self.engine = Engine(address, pool, KINDS)
        self.live = LiveAllocations(self._nudge)
        self.identities = Identities(pool)
        policies = LogPolicies(self.engine, pool)
        self.logs = TaskLogs(pool, policies)
        facts = MasterFacts(
            version=__version__,
            master_id=str(entropy.new_uuid()),
            cluster_id=cluster.cluster_id,
            cluster_name=settings.cluster_name,
        )
        reports = AgentReports(self.engine, self.live, self.logs, self._nudge)
        join = Join(
            cluster.join_token,
            is_open=_is_join_open(settings),
            allow_process_runtime=bool(settings.security.allow_process_runtime),
            pools=[p.pool_name for p in settings.resource_pools],
        )
        identity = MasterIdentity(
            master_id=facts.master_id,
            cluster_id=facts.cluster_id,
            cluster_name=facts.cluster_name,
            version=facts.version,
        )
        self.backend = AgentBackend(
            identity, reports, join, reconnect_wait_s=settings.agent_reconnect_wait_s
        )
        self.recorder = Recorder(pool)
        self.pool_loops = PoolLoops(
            pool_configs(settings),
            self.engine,
            self.backend.agents,
            self.live,
            self.recorder.note,
        )
        self.job_why = JobWhy(pool, self.live, self.pool_loops.decision)
        self.wait_lines = WaitLines(pool, self.live, self.job_why, self.logs)
        self.terms = JobTermsSync(self.engine, pool, self.live)
        self.flusher = Flusher(pool)
        specs = ContainerSpecs(pool, tokens, task_defaults(settings))
        ExperimentEffects(self.engine, pool).register()
        TrialEffects(self.engine, pool, tokens).register()
        self._collections = Collections(self.engine, pool)
        aux_pool = settings.resource_manager.default_aux_resource_pool
        CollectionEffects(
            self.engine, pool, tokens, self._collections, aux_pool or DEFAULT_POOL
        ).register()
        AllocationEffects(self.engine, self.backend, specs).register()
        self._deletions = ProjectDeletions(self.engine, pool)
        kept = settings.retention_policy
        self._retention = LogRetention(pool, kept.log_retention_days, kept.schedule)
        self.services = self._services(facts, passwords, cluster)
        self.api = Api(all_routes(), self.services, self.identities)

    def _services(self, facts: MasterFacts, passwords: Passwords, cluster: Cluster) -> Services:
        pool, engine = self._pool, self.engine
        layers = config_layers(self.settings, default_storage(self.settings))
        configs = ExperimentConfigs(pool, layers)
        pools = Pools(self.settings, self.backend, self.live)
        checkpoints = Checkpoints(pool)
        trials = Trials(engine, pool, self.live, self.flusher.summaries)
        experiments = Experiments(engine, pool, configs, pools)
        tasks = Tasks(pool)
        lists = ExperimentLists(pool)
        detached = Detached(engine, pool)
        queue = JobQueue(pool, self.live, pools)
        return Services(
            auth=Auth(pool, passwords, self.identities),
            users=Users(pool, passwords, self.identities),
            master=Master(facts, pool, self.settings.masked),
            cluster_messages=ClusterMessages(pool),
            experiments=experiments,
            model_files=ModelFiles(experiments),
            experiment_lists=lists,
            experiment_search=ExperimentSearch(pool, lists, trials),
            runs=Runs(pool, self.live),
            run_bulk=RunBulk(pool),
            project_columns=ProjectColumns(pool),
            series=SeriesReads(pool, self.flusher.points),
            experiment_edits=ExperimentEdits(pool, self._collections, self.terms),
            experiment_bulk=ExperimentBulk(pool),
            continuations=Continuations(engine, pool, configs),
            trials=trials,
            detached=detached,
            metrics=Metrics(engine, pool, self.flusher, detached.note_report),
            checkpoints=checkpoints,
            checkpoint_files=CheckpointFiles(pool, checkpoints, ObjectStorage()),
            collections=self._collections,
            task_logs=self.logs,
            log_retention=self._retention,
            tasks=tasks,
            task_control=TaskControl(tasks, trials, experiments, self.live),
            templates=Templates(pool),
            models=Models(pool),
            model_versions=ModelVersions(pool),
            trial_sources=TrialSources(pool),
            allocations=Allocations(engine, pool, self.live),
            agents=Agents(self.backend, self.live, cluster.join_token),
            agent_switches=AgentSwitches(engine, pool, self.backend, self.live, self._nudge),
            pools=pools,
            workspaces=Workspaces(pool, pools, self._deletions),
            projects=Projects(pool, self._deletions),
            identities=self.identities,
            job_queue=queue,
            job_changes=JobChanges(pool, queue, pools, self.terms),
            job_terms=self.terms,
            job_why=self.job_why,
            search_previews=SearchPreviews(layers),
            stories=Stories(pool),
            live=self.live,
            serve_agent=self.backend.serve,
        )

    def close(self) -> None:
        """Wait for the threads that serve requests."""
        self.api.close()
        self.services.checkpoint_files.close()

    async def run(self, ready: asyncio.Event) -> None:
        """Lead, plan and flush until cancelled; `ready` is set once agents may come."""
        self.engine.feed.listen("allocation", self._on_allocation)
        self.engine.feed.listen("trial", self._on_trial)
        async with asyncio.TaskGroup() as group:
            group.create_task(self.engine.run())
            await self.engine.wait_until_leading()
            group.create_task(keep_house(self._pool))
            group.create_task(watch_silence(self.services.detached))
            waits = CollectionWaits(self.engine, self._pool, self.backend)
            group.create_task(watch_collections(waits))
            group.create_task(self.flusher.run())
            group.create_task(self._deletions.run())
            group.create_task(self._retention.run())
            group.create_task(self.services.master.loop.run())
            group.create_task(self.pool_loops.run())
            group.create_task(self.recorder.run())
            group.create_task(self.wait_lines.run(self.pool_loops.decisions))
            group.create_task(self._keep_comparing())
            group.create_task(self._keep_terms())
            ready.set()
            await self._let_agents_in()

    async def _compare_until_done(self) -> None:
        """At the begin of a lead: agents may only be let in against what the rows say."""
        while True:
            try:
                await self._compare_live()
                await self.services.agent_switches.load()
                return
            except DATABASE_ERRORS:
                log.warning("the database does not answer yet")
                await asyncio.sleep(0.2)

    async def _keep_comparing(self) -> None:
        while True:
            await asyncio.sleep(COMPARE_S)
            with contextlib.suppress(*DATABASE_ERRORS, DetError):
                await self._compare_live()
                await self.services.agent_switches.enforce()

    async def _compare_live(self) -> None:
        """Bring the live allocations in line with their rows."""
        known = self.live.known()
        rows = await self._pool.fetch(OPEN_ALLOCATIONS)
        decode = ALLOCATION.codec.state
        self.live.reconcile(known, [(decode(row["state"]), row["version"]) for row in rows])

    async def _keep_terms(self) -> None:
        """Tell live requests what was set for their jobs, should that have been lost."""
        while True:
            try:
                await self.terms.sync()
            except Exception:  # the loop must live on
                log.exception("comparing requests with their jobs failed")
            await asyncio.sleep(COMPARE_S)

    async def _let_agents_in(self) -> None:
        """While this process leads, and under each of its epochs anew."""
        try:
            while True:
                epoch = await self.engine.wait_until_leading(timeout_s=None)
                await self._compare_until_done()
                expected = {
                    container.agent_id: allocation.request.pool
                    for allocation in self.live.values()
                    for container in allocation.containers
                    if container.state != "TERMINATED"
                }
                self.backend.open(expected, epoch)
                await self.engine.wait_while_leading(epoch)
                await self.backend.close()
        finally:
            await self.backend.close()

    def _nudge(self, pool: str) -> None:
        self.pool_loops.nudge(pool)

    def _on_allocation(self, change: Changed) -> None:
        self.live.changed(change.state, change.version)
        self.logs.tell(change.state.request.task_id)
        if change.state.state == "TERMINATED":
            self.identities.forget_allocation(change.id)

    def _on_trial(self, change: Changed) -> None:
        if change.state.state in TERMINAL:  # its task has ended: logs may have come to their end
            self.logs.tell(change.state.task_id)


async def _migrate(address: Address, settings: Settings) -> None:
    if settings.command == "restore":
        return
    conn = await connect(address)
    try:
        await migrate(conn)
    finally:
        await conn.close()


def default_storage(settings: Settings) -> Path | None:
    """Where checkpoints go when nobody says: beside our own database."""
    return None if settings.db.host else layout_of(settings).root.parent / "checkpoints"


def _is_join_open(settings: Settings) -> bool:
    chosen = settings.security.agent_join
    return chosen == "open" if chosen else settings.is_loopback
