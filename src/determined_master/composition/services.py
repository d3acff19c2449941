"""Creates all services of a master, by subject."""

from __future__ import annotations

from typing import TYPE_CHECKING

from determined_master.api.updates.live_views import Views
from determined_master.composition.access_services import AccessServices, ClusterServices
from determined_master.composition.experiment_services import (
    CheckpointServices,
    MetricServices,
    TrainingServices,
)
from determined_master.ports.agents import AgentSockets
from determined_master.services.answer_cache import CacheBudget
from determined_master.services.catalog import Services
from determined_master.services.configs.defaults import cluster_priorities
from determined_master.services.configs.policies import ConfigPolicies
from determined_master.services.configs.templates import Templates
from determined_master.services.logs.live_lines import LiveLines
from determined_master.services.page_data import PageData
from determined_master.services.queue.activity import Activity
from determined_master.services.queue.all_jobs import AllJobs
from determined_master.services.queue.job_changes import JobChanges
from determined_master.services.queue.overview import Overview
from determined_master.services.queue.what_if import WhatIf
from determined_master.services.tasks.allocations import Allocations
from determined_master.services.tasks.attempts import Attempts
from determined_master.services.tasks.control import TaskControl
from determined_master.services.tasks.generic_lists import GenericLists
from determined_master.services.tasks.service import Tasks
from determined_master.services.tasks.service_access import ServiceAccess
from determined_master.services.tasks.tensorboards import Tensorboards
from determined_master.services.tasks.terminals import Terminals
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
    from determined_master.services.access.guard import Guard
    from determined_master.services.access.passwords import Passwords
    from determined_master.services.access.roles import Roles


class PoolServices:
    """Resource pools and their queues."""

    def __init__(
        self, base: CoreServices, backends: MasterBackends, queues: QueueServices
    ) -> None:
        parts = (base.db, queues.queue, queues.pools, queues.bindings, queues.terms)
        is_strict = base.settings.security.authz.strict_job_queue_control
        self.pools = queues.pools
        self.bindings = queues.bindings
        self.namespaces = backends.namespaces
        self.queue = queues.queue
        self.terms = queues.terms
        self.why = queues.job_why
        self.changes = JobChanges(*parts, is_strict=is_strict)
        self.overview = Overview(base.db, queues.queue)
        self.all_jobs = AllJobs(queues.queue, queues.loops.decision)
        self.what_if = WhatIf(base.db, queues.pools)
        self.activity = Activity(base.db)


class RunningServices:
    """Tasks of every kind, their logs and proxies."""

    def __init__(
        self,
        base: CoreServices,
        work: TaskServices,
        guard: Guard,
        experiments: TrainingServices,
    ) -> None:
        db = base.db
        self.tasks = Tasks(db)
        self.allocations = Allocations(base.engine, db, base.live)
        self.attempts = Attempts(db)
        self.generic = work.generic
        self.generic_lists = GenericLists(db)
        self.interactive = work.interactive
        self.tensorboards = Tensorboards(db, work.interactive)
        self.proxies = work.proxies
        self.shares = work.shares
        self.access = ServiceAccess(work.proxies, guard, self.tasks, work.shares)
        self.terminals = Terminals(work.interactive, work.proxies, self.access)
        self.logs = base.logs
        self.retention = work.retention
        self.control = TaskControl(
            self.tasks,
            experiments.trials,
            experiments.experiments,
            work.generic,
            work.interactive,
            guard,
            self.allocations,
        )


class WorkspaceServices:
    """Workspaces and projects, and what is set for them."""

    def __init__(
        self,
        base: CoreServices,
        backends: MasterBackends,
        queues: QueueServices,
        work: TaskServices,
        roles: Roles,
    ) -> None:
        db, deletions = base.db, work.deletions
        self.workspaces = Workspaces(
            db, queues.bindings, deletions, roles, backends.namespaces, work.layers
        )
        self.projects = Projects(db, deletions, Moves(queues.bindings, queues.pools))
        self.columns = ProjectColumns(db)
        self.pages = ProjectPages(db)
        self.visits = ProjectVisits(db)
        self.links = Links(db)
        self.policies = ConfigPolicies(db, cluster_priorities(base.settings))
        self.templates = Templates(db)
        networks = base.settings.webhooks.networks()
        self.webhooks = Webhooks(db, base.deliveries, base.log_triggers, networks)


class UpdateServices:
    """What tells clients of changes."""

    def __init__(
        self,
        base: CoreServices,
        backends: MasterBackends,
        queues: QueueServices,
        guard: Guard,
        views: Views,
    ) -> None:
        cluster = ClusterFacts(backends.runner.agents, lambda: queues.pools.names, base.live)
        lines = LiveLines(base.db)
        self.allocations = base.live
        self.streams = base.streams
        self.live = LiveUpdates(base.db, guard, base.changes, base.news, lines, cluster, views)


class MasterServices:
    """All services of a master, by subject."""

    def __init__(
        self,
        base: CoreServices,
        backends: MasterBackends,
        queues: QueueServices,
        work: TaskServices,
        passwords: Passwords,
    ) -> None:
        memory = CacheBudget()
        self.access = AccessServices(base, passwords)
        guard = self.access.guard
        self.cluster = ClusterServices(base, backends, guard)
        self.pools = PoolServices(base, backends, queues)
        self.experiments = TrainingServices(base, queues, work, guard, memory)
        self.metrics = MetricServices(base, work, self.experiments.detached, memory)
        self.checkpoints = CheckpointServices(base, work)
        self.running = RunningServices(base, work, guard, self.experiments)
        self.workspaces = WorkspaceServices(base, backends, queues, work, self.access.roles)
        views = Views(
            self.experiments.trials, self.experiments.experiments, self.cluster.agents, base.live
        )
        self.updates = UpdateServices(base, backends, queues, guard, views)

    def catalog(self, agent_sockets: AgentSockets) -> Services:
        """The services for routes, which name them by type."""
        subjects = [vars(subject) for subject in vars(self).values()]
        services = Services(*(service for subject in subjects for service in subject.values()))
        services.add(AgentSockets, agent_sockets)
        services.add(PageData, self._page_data())
        return services

    def _page_data(self) -> PageData:
        return PageData(
            self.cluster.master,
            self.cluster.messages,
            self.access.users,
            self.access.roles,
            self.workspaces.workspaces,
            self.workspaces.projects,
            self.access.guard,
        )
