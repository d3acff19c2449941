"""The composition root: only here concrete parts are named and joined."""

from __future__ import annotations

import asyncio
from functools import partial
from typing import TYPE_CHECKING, TypedDict

from determined_master import __version__, entropy
from determined_master.api.app import Api
from determined_master.api.table import all_routes
from determined_master.backends.agents.backend import AgentBackend, MasterIdentity
from determined_master.backends.object_storage import ObjectStorage
from determined_master.database import default_storage
from determined_master.domain.states import TERMINAL
from determined_master.engine import Changed, Engine
from determined_master.engine.kinds import KINDS
from determined_master.kubernetes_clusters import kubernetes_clusters
from determined_master.leading import Lead
from determined_master.machine_providers import make_providers
from determined_master.pools.backends import Backends
from determined_master.pools.live import LiveAllocations
from determined_master.pools.loops import PoolLoops
from determined_master.pools.recorder import Recorder
from determined_master.provision.loops import MachineLoops, Surroundings, sizes_of
from determined_master.services.access_tokens import AccessTokens, Lives
from determined_master.services.agent_stays import AgentStays
from determined_master.services.agent_switches import AgentSwitches
from determined_master.services.agents import AgentReports, Agents, Join
from determined_master.services.allocations import Allocations
from determined_master.services.auth import Auth
from determined_master.services.bootstrap import Cluster
from determined_master.services.catalog import Services
from determined_master.services.checkpoint_files import CheckpointFiles
from determined_master.services.checkpoints import Checkpoints
from determined_master.services.cluster_authority import ClusterAuthority
from determined_master.services.cluster_messages import ClusterMessages
from determined_master.services.collection_waits import CollectionWaits
from determined_master.services.collections import Collections
from determined_master.services.config_policies import ConfigPolicies
from determined_master.services.container_specs import ContainerSpecs
from determined_master.services.continuations import Continuations
from determined_master.services.defaults import (
    cluster_priorities,
    config_layers,
    idle_timeouts,
    pool_configs,
    task_defaults,
)
from determined_master.services.detached import Detached
from determined_master.services.effects.allocations import AllocationEffects
from determined_master.services.effects.collections import CollectionEffects
from determined_master.services.effects.experiments import ExperimentEffects
from determined_master.services.effects.generic_tasks import GenericTaskEffects
from determined_master.services.effects.interactive_tasks import InteractiveEffects
from determined_master.services.effects.trials import TrialEffects
from determined_master.services.experiment_bulk import ExperimentBulk
from determined_master.services.experiment_configs import ExperimentConfigs
from determined_master.services.experiment_edits import ExperimentEdits
from determined_master.services.experiment_lists import ExperimentLists
from determined_master.services.experiment_search import ExperimentSearch
from determined_master.services.experiments import Experiments
from determined_master.services.generic_tasks import GenericTasks
from determined_master.services.groups import Groups
from determined_master.services.guard import Guard
from determined_master.services.harness import Harness
from determined_master.services.identities import Identities
from determined_master.services.idle_tasks import IdleTasks
from determined_master.services.interactive_configs import InteractiveConfigs
from determined_master.services.interactive_programs import InteractiveSecrets
from determined_master.services.interactive_tasks import InteractiveTasks
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
from determined_master.services.moves import Moves
from determined_master.services.namespaces import NamespacesOf, WorkspaceNamespaces
from determined_master.services.passwords import Passwords
from determined_master.services.pod_terms import PodTermsReader
from determined_master.services.pool_bindings import PoolBindings
from determined_master.services.pools import Pools
from determined_master.services.project_columns import ProjectColumns
from determined_master.services.project_deletions import ProjectDeletions
from determined_master.services.projects import Projects
from determined_master.services.proxies import Proxies
from determined_master.services.roles import Roles
from determined_master.services.run_bulk import RunBulk
from determined_master.services.runs import Runs
from determined_master.services.search_previews import SearchPreviews
from determined_master.services.series import SeriesReads
from determined_master.services.stories import Stories
from determined_master.services.system_metrics import SystemMetrics
from determined_master.services.task_control import TaskControl
from determined_master.services.task_logs import TaskLogs
from determined_master.services.tasks import Tasks
from determined_master.services.templates import Templates
from determined_master.services.tensorboards import Tensorboards
from determined_master.services.tokens import TaskTokens
from determined_master.services.trial_sources import TrialSources
from determined_master.services.trials import Trials
from determined_master.services.usage import Usage
from determined_master.services.users import Users
from determined_master.services.wait_lines import WaitLines
from determined_master.services.workspaces import Workspaces
from determined_master.settings_kubernetes import KubernetesManager
from determined_master.store.pool import Address, Pool
from determined_master.sweeps.collections import watch_collections
from determined_master.sweeps.idle import watch_idle
from determined_master.sweeps.maintenance import keep_house
from determined_master.sweeps.namespaces import watch_namespaces
from determined_master.sweeps.running import keep_running
from determined_master.sweeps.silence import watch_silence
from determined_master.sweeps.usage import sum_up_days, watch_agents

if TYPE_CHECKING:
    from collections.abc import Mapping

    from determined_master.ports import ClusterBackend, KubernetesCluster, MachineProvider
    from determined_master.settings import Settings


class _People(TypedDict):
    """The services of who is who, and who may what."""

    auth: Auth
    identities: Identities
    users: Users
    groups: Groups
    roles: Roles
    guard: Guard
    access_tokens: AccessTokens


class _Queues(TypedDict):
    """The services of pools and of what waits in them."""

    pools: Pools
    pool_bindings: PoolBindings
    namespaces: WorkspaceNamespaces
    job_queue: JobQueue
    job_changes: JobChanges
    job_terms: JobTermsSync
    job_why: JobWhy


class App:
    """One master: its parts, joined."""

    def __init__(
        self,
        settings: Settings,
        address: Address,
        pool: Pool,
        cluster: Cluster,
        passwords: Passwords,
        *,
        backend: ClusterBackend | None = None,
        clusters: Mapping[str, KubernetesCluster] | None = None,
    ) -> None:
        """
        Args:
            backend: runs the containers in place of agents that connect; for tests.
            clusters: by the name of their manager, in place of the settings'; for tests.
        """
        self.settings = settings
        self._pool = pool
        self.engine = Engine(address, pool, KINDS)
        self.live = LiveAllocations(self._nudge)
        self.identities = Identities(pool, has_roles=settings.security.authz.has_roles)
        self._policies = LogPolicies(self.engine, pool)
        self.logs = TaskLogs(pool, self._policies)
        self.facts = _facts(settings, cluster)
        self._reports = AgentReports(self.engine, self.live, self.logs, self._nudge)
        self.door = self._door(cluster)
        clusters = clusters or kubernetes_clusters(settings, self.facts, self._reports)
        self._doors = self._backends(backend or self.door, clusters)
        self.backend: ClusterBackend = self._doors if clusters else backend or self.door
        providers = make_providers(settings, cluster)
        self.pools = Pools(settings, self.backend, self.live, providers)
        self.bindings = PoolBindings(pool, self.pools)
        self.namespaces = WorkspaceNamespaces(pool, self._clusters(clusters), cluster.cluster_id)
        self.queue = JobQueue(pool, self.live, self.pools)
        self._keep_pools(providers)
        self.terms = JobTermsSync(self.engine, pool, self.live)
        self.flusher = Flusher(pool)
        self._layers = config_layers(settings, default_storage(settings))
        self._configs = ExperimentConfigs(pool, self._layers)
        self._generic = GenericTasks(self.engine, pool, self._layers, self.pools)
        self._tokens = TaskTokens(cluster.secret)
        self._interactive = self._interactive_tasks()
        self._collections = Collections(self.engine, pool)
        self.deletions = ProjectDeletions(self.engine, pool)
        self._retention = self._log_retention()
        self.proxies = Proxies(self.live, self._tokens, ClusterAuthority(self._tokens))
        self._handle_effects(self._tokens)
        self.services = self._services(passwords, cluster)
        self.api = Api(all_routes(), self.services, self.identities)
        self._listen()

    def _keep_pools(self, providers: Mapping[str, MachineProvider]) -> None:
        """What plans for pools, keeps their machines, and tells what became of it."""
        pool, live, agents = self._pool, self.live, self.backend.agents
        pools = self.settings.resource_pools
        configs = pool_configs(self.settings, sizes_of(pools, providers))
        self.recorder = Recorder(pool)
        self.pool_loops = PoolLoops(configs, self.engine, agents, live, self.recorder.note)
        around = Surroundings(self.engine, pool, live, agents, self.pool_loops)
        self.machines = MachineLoops(pools, providers, around)
        self.job_why = JobWhy(pool, live, self.pool_loops.decision, self.machines.news)
        self.wait_lines = WaitLines(pool, live, self.job_why, self.logs)

    def _interactive_tasks(self) -> InteractiveTasks:
        """Commands, notebooks, shells and TensorBoards."""
        settings, pools = self.settings, self.pools
        configs = InteractiveConfigs(self._pool, self._layers, pools, idle_timeouts(settings))
        secrets = InteractiveSecrets(self._tokens, task_defaults(settings))
        return InteractiveTasks(self.engine, self._pool, configs, pools, self.terms, secrets)

    def _log_retention(self) -> LogRetention:
        kept = self.settings.retention_policy
        return LogRetention(self._pool, kept.log_retention_days, kept.schedule)

    def _door(self, cluster: Cluster) -> AgentBackend:
        """Where agents come in."""
        settings, facts = self.settings, self.facts
        join = Join(
            cluster.join_token,
            is_open=_is_join_open(settings),
            allow_process_runtime=bool(settings.security.allow_process_runtime),
            pools=[p.pool_name for p in settings.agent_pools],
            needs_certificate=settings.agents.require_authentication,
            verifies_ids=settings.agents.verify_agent_ids,
        )
        identity = MasterIdentity(
            master_id=facts.master_id,
            cluster_id=facts.cluster_id,
            cluster_name=facts.cluster_name,
            version=facts.version,
        )
        return AgentBackend(
            identity, self._reports, join, reconnect_wait_s=settings.agent_reconnect_wait_s
        )

    def _backends(
        self, agents: ClusterBackend, clusters: Mapping[str, KubernetesCluster]
    ) -> Backends:
        """All that runs containers, each pool's by the pool's name."""
        of_pools = (
            (p.pool_name, self.settings.manager_of(p.pool_name)) for p in self.settings.all_pools
        )
        return Backends(agents, self.door, clusters, {pool: m.name for pool, m in of_pools})

    def _clusters(self, calls: Mapping[str, KubernetesCluster]) -> dict[str, NamespacesOf]:
        """The Kubernetes clusters, as those see them who bind workspaces to namespaces."""
        found = {}
        for manager in self.settings.managers:
            if isinstance(manager.config, KubernetesManager) and manager.name in calls:
                default = manager.config.default_namespace
                found[manager.name] = NamespacesOf(calls[manager.name], default)
        return found

    def _handle_effects(self, tokens: TaskTokens) -> None:
        """Say who carries out which effect."""
        pool, engine, settings = self._pool, self.engine, self.settings
        ExperimentEffects(engine, pool).register()
        TrialEffects(engine, pool, tokens, self.pools).register()
        GenericTaskEffects(engine, pool, tokens).register()
        InteractiveEffects(engine, pool, tokens).register()
        aux_pool = settings.resource_manager.default_aux_resource_pool
        aux_pool = aux_pool or settings.resource_pools[0].pool_name
        CollectionEffects(engine, pool, tokens, self._collections, aux_pool).register()
        defaults = task_defaults(settings)
        specs = ContainerSpecs(pool, tokens, defaults)
        pods = PodTermsReader(settings, pool)
        AllocationEffects(engine, self.backend, specs, self._policies, pods).register()

    def _services(self, passwords: Passwords, cluster: Cluster) -> Services:
        pool, engine = self._pool, self.engine
        trials = Trials(engine, pool, self.live, self.flusher.summaries)
        experiments = Experiments(engine, pool, self._configs, self.pools)
        lists, tasks, checkpoints = ExperimentLists(pool), Tasks(pool), Checkpoints(pool)
        detached, people = Detached(engine, pool), self._people(passwords)
        return Services(
            **people,
            **self._queues(),
            master=Master(self.facts, pool, self.settings.masked),
            cluster_messages=ClusterMessages(pool),
            experiments=experiments,
            model_files=ModelFiles(experiments),
            experiment_lists=lists,
            experiment_search=ExperimentSearch(pool, lists, trials),
            runs=Runs(pool, self.live),
            run_bulk=RunBulk(pool),
            project_columns=ProjectColumns(pool),
            series=SeriesReads(pool, self.flusher.points),
            experiment_edits=ExperimentEdits(pool, self._collections, self.terms, self.pools),
            experiment_bulk=ExperimentBulk(pool),
            continuations=Continuations(engine, pool, self._configs, self.bindings),
            trials=trials,
            detached=detached,
            system_metrics=(samples := SystemMetrics(pool)),
            metrics=Metrics(engine, pool, self.flusher, samples, detached.note_report),
            checkpoints=checkpoints,
            checkpoint_files=CheckpointFiles(pool, checkpoints, ObjectStorage()),
            collections=self._collections,
            task_logs=self.logs,
            log_retention=self._retention,
            tasks=tasks,
            task_control=self._task_control(tasks, trials, experiments),
            generic_tasks=self._generic,
            interactive_tasks=self._interactive,
            tensorboards=Tensorboards(pool, self._interactive),
            templates=Templates(pool),
            config_policies=ConfigPolicies(pool, cluster_priorities(self.settings)),
            models=Models(pool),
            model_versions=ModelVersions(pool),
            trial_sources=TrialSources(pool),
            allocations=Allocations(engine, pool, self.live),
            agents=Agents(self.backend, self.live, cluster.join_token),
            agent_switches=AgentSwitches(engine, pool, self.backend, self.live, self._nudge),
            workspaces=self._workspaces(people["roles"]),
            projects=Projects(pool, self.deletions, Moves(self.bindings, self.pools)),
            proxies=self.proxies,
            search_previews=SearchPreviews(self._layers),
            stories=Stories(pool),
            harness=Harness(),
            usage=Usage(pool),
            live=self.live,
            serve_agent=self.door.serve,
        )

    def _workspaces(self, roles: Roles) -> Workspaces:
        return Workspaces(self._pool, self.bindings, self.deletions, roles, self.namespaces)

    def _people(self, passwords: Passwords) -> _People:
        pool, known = self._pool, self.identities
        token = self.settings.security.token
        lives = Lives(token.default_lifespan_days, token.max_lifespan_days)
        return _People(
            auth=Auth(pool, passwords, known),
            identities=known,
            users=Users(pool, passwords, known),
            groups=Groups(pool, known),
            roles=Roles(pool, known, self.settings.security.authz.creator_role_id),
            guard=Guard(pool),
            access_tokens=AccessTokens(pool, known, lives),
        )

    def _queues(self) -> _Queues:
        is_strict = self.settings.security.authz.strict_job_queue_control
        parts = (self._pool, self.queue, self.pools, self.bindings, self.terms)
        return _Queues(
            pools=self.pools,
            pool_bindings=self.bindings,
            namespaces=self.namespaces,
            job_queue=self.queue,
            job_changes=JobChanges(*parts, is_strict=is_strict),
            job_terms=self.terms,
            job_why=self.job_why,
        )

    def _task_control(self, tasks: Tasks, trials: Trials, experiments: Experiments) -> TaskControl:
        generic, interactive = self._generic, self._interactive
        return TaskControl(tasks, trials, experiments, generic, interactive, self.live)

    def close(self) -> None:
        """Wait for the threads that serve requests."""
        self.api.close()
        self.services.checkpoint_files.close()

    async def run(self, ready: asyncio.Event) -> None:
        """Lead, plan and flush until cancelled; `ready` is set once agents may come."""
        switches = self.services.agent_switches
        parts = self.engine, self._pool, self.live, self._doors, switches, self.terms
        lead = Lead(*parts, self.machines.take_over)
        waits = CollectionWaits(self.engine, self._pool, self.backend)
        stays = AgentStays(self._pool, self.backend)
        idle = IdleTasks(self._pool, self._interactive, self.proxies)
        async with asyncio.TaskGroup() as group:
            group.create_task(self.engine.run())
            await self.engine.wait_until_leading(timeout_s=None)
            for vital in (self.flusher, self.services.master.loop, self.pool_loops):
                group.create_task(vital.run())
            for loop in (
                partial(keep_house, self._pool),
                partial(watch_silence, self.services.detached),
                partial(watch_collections, waits),
                partial(watch_idle, idle),
                partial(watch_namespaces, self.namespaces),
                partial(sum_up_days, self.services.usage),
                partial(watch_agents, stays, self._longest_way_back_s()),
                partial(self.wait_lines.run, self.pool_loops.decisions),
                self.deletions.run,
                self._retention.run,
                self.recorder.run,
                self.machines.run,
                lead.keep_enforcing,
                lead.keep_terms,
            ):
                group.create_task(keep_running(loop))
            ready.set()
            await lead.let_agents_in()

    def _longest_way_back_s(self) -> float:
        return max(p.agent_reconnect_wait_s for p in self.settings.all_pools)

    def _nudge(self, pool: str) -> None:
        self.pool_loops.nudge(pool)

    def _listen(self) -> None:
        """Hear what is committed."""
        self.engine.feed.listen("allocation", self._on_allocation)
        self.engine.feed.listen("trial", self._on_trial)
        self.engine.feed.listen("task", self._on_generic_task)
        self.engine.feed.listen("interactive", self._on_interactive_task)

    def _on_allocation(self, change: Changed) -> None:
        self.live.changed(change.state, change.version)
        self.logs.tell(change.state.request.task_id)
        if change.state.state == "TERMINATED":
            self.identities.forget_allocation(change.id)
            self.proxies.ended(change.id, change.state.request.task_id)

    def _on_trial(self, change: Changed) -> None:
        if change.state.state in TERMINAL:  # its task has ended: logs may have come to their end
            self.logs.tell(change.state.task_id)

    def _on_generic_task(self, change: Changed) -> None:
        if change.state.state in TERMINAL:
            self.logs.tell(change.id)

    def _on_interactive_task(self, change: Changed) -> None:
        if change.state.state == "OVER":
            self.logs.tell(change.id)


def _facts(settings: Settings, cluster: Cluster) -> MasterFacts:
    authz = settings.security.authz
    return MasterFacts(
        version=__version__,
        master_id=str(entropy.new_uuid()),
        cluster_id=cluster.cluster_id,
        cluster_name=settings.cluster_name,
        shows_roles=authz.shows_roles,
        is_queue_strict=authz.strict_job_queue_control,
    )


def _is_join_open(settings: Settings) -> bool:
    chosen = settings.security.agent_join
    return chosen == "open" if chosen else settings.is_loopback
