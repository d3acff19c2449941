"""Creates all services of a master."""

from __future__ import annotations

from typing import TYPE_CHECKING

import msgspec

from determined_master.api.updates.live_views import Views
from determined_master.backends.buckets.object_storage import ObjectStorage
from determined_master.composition.machine_providers import machine_pools
from determined_master.ports.agents import AgentSockets
from determined_master.services.access.access_tokens import AccessTokens, Lives
from determined_master.services.access.auth import Auth
from determined_master.services.access.devices import Devices
from determined_master.services.access.groups import Groups
from determined_master.services.access.guard import Guard
from determined_master.services.access.passwords import Passwords
from determined_master.services.access.roles import Roles
from determined_master.services.access.users import Users
from determined_master.services.answer_cache import CacheBudget
from determined_master.services.catalog import Services
from determined_master.services.checkpoints.files import CheckpointFiles
from determined_master.services.checkpoints.service import Checkpoints
from determined_master.services.cluster.agent_history import AgentHistories
from determined_master.services.cluster.agent_switches import AgentSwitches
from determined_master.services.cluster.agents import Agents
from determined_master.services.cluster.join_tokens import JoinTokens
from determined_master.services.cluster.machine_starts import MachineStarts
from determined_master.services.cluster.master import Master
from determined_master.services.cluster.messages import ClusterMessages
from determined_master.services.cluster.usage import Usage
from determined_master.services.cluster.web_ui import WebUi
from determined_master.services.configs.defaults import cluster_priorities, storage_access
from determined_master.services.configs.policies import ConfigPolicies
from determined_master.services.configs.templates import Templates
from determined_master.services.containers.agent_packages import AgentPackages
from determined_master.services.containers.agent_wheel import AgentWheel
from determined_master.services.containers.harness import Harness
from determined_master.services.experiments.bulk import ExperimentBulk
from determined_master.services.experiments.continuations import Continuations
from determined_master.services.experiments.detached import Detached
from determined_master.services.experiments.edits import ExperimentEdits
from determined_master.services.experiments.importance import HpImportances
from determined_master.services.experiments.lists import ExperimentLists
from determined_master.services.experiments.model_files import ModelFiles
from determined_master.services.experiments.pages import ExperimentPages
from determined_master.services.experiments.run_bulk import RunBulk
from determined_master.services.experiments.runs import Runs
from determined_master.services.experiments.search_query import ExperimentSearch
from determined_master.services.experiments.service import Experiments
from determined_master.services.experiments.stories import Stories
from determined_master.services.experiments.trial_sources import TrialSources
from determined_master.services.experiments.trials import Trials
from determined_master.services.history.audit import AuditLog
from determined_master.services.history.events import Events
from determined_master.services.logs.live_lines import LiveLines
from determined_master.services.metrics.charts import Charts
from determined_master.services.metrics.series import SeriesReads
from determined_master.services.metrics.service import Metrics
from determined_master.services.metrics.system_metrics import SystemMetrics
from determined_master.services.models.service import Models
from determined_master.services.models.versions import ModelVersions
from determined_master.services.page_data import PageData
from determined_master.services.queue.activity import Activity
from determined_master.services.queue.job_changes import JobChanges
from determined_master.services.queue.overview import Overview
from determined_master.services.queue.what_if import WhatIf
from determined_master.services.search.previews import SearchPreviews
from determined_master.services.tasks.allocations import Allocations
from determined_master.services.tasks.control import TaskControl
from determined_master.services.tasks.generic_lists import GenericLists
from determined_master.services.tasks.service import Tasks
from determined_master.services.tasks.service_access import ServiceAccess
from determined_master.services.tasks.tensorboards import Tensorboards
from determined_master.services.updates.live.hub import ClusterFacts, LiveUpdates
from determined_master.services.webhooks.service import Webhooks
from determined_master.services.workspaces.links import Links
from determined_master.services.workspaces.moves import Moves
from determined_master.services.workspaces.pages import ProjectPages
from determined_master.services.workspaces.project_columns import ProjectColumns
from determined_master.services.workspaces.projects import Projects
from determined_master.services.workspaces.service import Workspaces
from determined_master.services.workspaces.visits import ProjectVisits

if TYPE_CHECKING:
    from determined_master.composition.backends import MasterBackends
    from determined_master.composition.core_services import CoreServices
    from determined_master.composition.queue_services import QueueServices
    from determined_master.composition.task_services import TaskServices
    from determined_master.store.db import Database


def make_services(
    base: CoreServices,
    backends: MasterBackends,
    queues: QueueServices,
    work: TaskServices,
    passwords: Passwords,
) -> Services:
    """The services of a master, each registered by its type."""
    db, engine, limits = base.db, base.engine, base.settings.config_limits
    trials = Trials(engine, db, base.live, work.flusher.summaries, base.news)
    experiments = Experiments(engine, db, work.configs, queues.pools)
    memory = CacheBudget()
    lists, tasks = ExperimentLists(db, memory), Tasks(db)
    guard = Guard(db, has_roles=base.settings.security.authz.has_roles)
    allocations = Allocations(engine, db, base.live)
    detached, samples = Detached(engine, db), SystemMetrics(db)
    roles = Roles(db, base.identities, base.settings.security.authz.creator_role_id)
    services = Services(
        *_people(base, passwords),
        guard,
        *_queues(base, backends, queues),
        *_checkpoint_services(base, work),
        *_of_database(db),
        TrialSources(db, guard),
        *_machines(base, backends, guard),
        *_work(db, work, guard, tasks),
        *_for_web_ui(base, work, memory),
        *_rendered(db, work, memory),
        roles,
        Master(base.facts, db, base.settings.masked, base.engine.oldest_effect_age_s),
        experiments,
        ModelFiles(experiments),
        lists,
        ExperimentSearch(db, lists, trials),
        Runs(db, base.live, memory),
        ExperimentEdits(db, work.checkpoint_gc, queues.terms, queues.pools, limits),
        Continuations(engine, db, work.configs, queues.bindings),
        trials,
        detached,
        samples,
        Metrics(engine, db, work.flusher, samples, detached.note_report, base.news),
        base.logs,
        tasks,
        TaskControl(
            tasks, trials, experiments, work.generic, work.interactive, guard, allocations
        ),
        ConfigPolicies(db, cluster_priorities(base.settings)),
        allocations,
        Workspaces(db, queues.bindings, work.deletions, roles, backends.namespaces, work.layers),
        Projects(db, work.deletions, Moves(queues.bindings, queues.pools)),
        Webhooks(db, base.deliveries, base.log_triggers, base.settings.webhooks.networks()),
        base.live,
        base.streams,
    )
    views = Views(trials, experiments, services[Agents], base.live)
    services.add(LiveUpdates, _live_updates(base, backends, queues, guard, views))
    services.add(AgentSockets, backends.admission)
    services.add(PageData, _page_data(services, guard))
    return services


def _of_database(db: Database) -> tuple[object, ...]:
    """The services that need nothing but the database."""
    return (
        ClusterMessages(db),
        RunBulk(db),
        ProjectColumns(db),
        ExperimentBulk(db),
        Templates(db),
        ProjectVisits(db),
    )


def _page_data(services: Services, guard: Guard) -> PageData:
    return PageData(
        services[Master],
        services[ClusterMessages],
        services[Users],
        services[Roles],
        services[Workspaces],
        services[Projects],
        guard,
    )


def _live_updates(
    base: CoreServices,
    backends: MasterBackends,
    queues: QueueServices,
    guard: Guard,
    views: Views,
) -> LiveUpdates:
    """The live channel, which shares the notifications of rows with the streams."""
    cluster = ClusterFacts(backends.runner.agents, lambda: queues.pools.names, base.live)
    lines = LiveLines(base.db)
    return LiveUpdates(base.db, guard, base.changes, base.news, lines, cluster, views)


def _people(base: CoreServices, passwords: Passwords) -> tuple[object, ...]:
    """The services of users, groups, their tokens and permissions."""
    db, identities, security = base.db, base.identities, base.settings.security
    lives = Lives(security.token.default_lifespan_days, security.token.max_lifespan_days)
    return (
        Auth(db, passwords, identities, Devices(base.cluster.secret)),
        identities,
        Users(db, passwords, identities),
        Groups(db, identities),
        AccessTokens(db, identities, lives),
    )


def _queues(
    base: CoreServices, backends: MasterBackends, queues: QueueServices
) -> tuple[object, ...]:
    """The services of resource pools and of their queues."""
    parts = (base.db, queues.queue, queues.pools, queues.bindings, queues.terms)
    is_strict = base.settings.security.authz.strict_job_queue_control
    return (
        queues.pools,
        queues.bindings,
        backends.namespaces,
        queues.queue,
        JobChanges(*parts, is_strict=is_strict),
        queues.terms,
        queues.job_why,
        Overview(base.db, queues.queue),
        WhatIf(base.db, queues.pools),
    )


def _checkpoint_services(base: CoreServices, work: TaskServices) -> tuple[object, ...]:
    """The services of checkpoints, and of the models made of them."""
    db, checkpoints = base.db, Checkpoints(base.db, base.news)
    access = storage_access(base.settings, work.layers)
    return (
        checkpoints,
        CheckpointFiles(db, checkpoints, ObjectStorage(access), access),
        work.checkpoint_gc,
        Models(db),
        ModelVersions(db),
    )


def _work(db: Database, work: TaskServices, guard: Guard, tasks: Tasks) -> tuple[object, ...]:
    """The services of tasks other than trials, of logs, searches, stories and usage."""
    return (
        work.generic,
        work.interactive,
        work.shares,
        ServiceAccess(work.proxies, guard, tasks, work.shares),
        Tensorboards(db, work.interactive),
        work.retention,
        work.proxies,
        SearchPreviews(work.layers),
        Stories(db),
        Harness(),
        Usage(db),
    )


def _for_web_ui(base: CoreServices, work: TaskServices, memory: CacheBudget) -> tuple[object, ...]:
    """The services that only the web UI uses."""
    db = base.db
    logos = base.settings.ui_customization.logo_paths
    files = WebUi(
        base.settings.root,
        base.settings.service_address,
        None if logos is None else msgspec.structs.asdict(logos),
    )
    charts = Charts(db, work.flusher.points, memory)
    pages = (ProjectPages(db), Links(db), GenericLists(db), Events(db), AuditLog(db), Activity(db))
    return files, charts, HpImportances(db), *pages


def _rendered(db: Database, work: TaskServices, memory: CacheBudget) -> tuple[object, ...]:
    """Services that keep rendered answers."""
    series = SeriesReads(db, work.flusher.points, work.flusher.summaries, memory)
    return ExperimentPages(db, memory), series


def _machines(base: CoreServices, backends: MasterBackends, guard: Guard) -> tuple[object, ...]:
    """The services of agents."""
    pools = machine_pools(base.settings)
    return (
        Agents(backends.runner, base.live, guard),
        AgentSwitches(base.engine, base.db, backends.runner, base.live, base.trigger_planning),
        AgentHistories(base.db, guard, backends.runner.agents),
        JoinTokens(base.db, base.cluster.secret, pools),
        AgentWheel(),
        AgentPackages(base.settings.wheelhouse),
        MachineStarts(base.db, pools),
    )
