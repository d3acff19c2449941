"""All services of the master, as routes reach them."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from typing import Any

from determined_master.pools.live import LiveAllocations
from determined_master.services.access.access_tokens import AccessTokens
from determined_master.services.access.auth import Auth
from determined_master.services.access.groups import Groups
from determined_master.services.access.guard import Guard
from determined_master.services.access.identities import Identities
from determined_master.services.access.roles import Roles
from determined_master.services.access.users import Users
from determined_master.services.checkpoints.checkpoints import Checkpoints
from determined_master.services.checkpoints.files import CheckpointFiles
from determined_master.services.checkpoints.gc import CheckpointGc
from determined_master.services.cluster.agent_switches import AgentSwitches
from determined_master.services.cluster.agents import Agents
from determined_master.services.cluster.master import Master
from determined_master.services.cluster.messages import ClusterMessages
from determined_master.services.cluster.pool_bindings import PoolBindings
from determined_master.services.cluster.pools import Pools
from determined_master.services.cluster.usage import Usage
from determined_master.services.configs.policies import ConfigPolicies
from determined_master.services.configs.templates import Templates
from determined_master.services.containers.harness import Harness
from determined_master.services.experiments.bulk import ExperimentBulk
from determined_master.services.experiments.continuations import Continuations
from determined_master.services.experiments.detached import Detached
from determined_master.services.experiments.edits import ExperimentEdits
from determined_master.services.experiments.experiments import Experiments
from determined_master.services.experiments.lists import ExperimentLists
from determined_master.services.experiments.model_files import ModelFiles
from determined_master.services.experiments.run_bulk import RunBulk
from determined_master.services.experiments.runs import Runs
from determined_master.services.experiments.search_query import ExperimentSearch
from determined_master.services.experiments.stories import Stories
from determined_master.services.experiments.trial_sources import TrialSources
from determined_master.services.experiments.trials import Trials
from determined_master.services.logs.retention import LogRetention
from determined_master.services.logs.task_logs import TaskLogs
from determined_master.services.metrics.metrics import Metrics
from determined_master.services.metrics.series import SeriesReads
from determined_master.services.metrics.system_metrics import SystemMetrics
from determined_master.services.models.models import Models
from determined_master.services.models.versions import ModelVersions
from determined_master.services.queue.job_changes import JobChanges
from determined_master.services.queue.job_queue import JobQueue
from determined_master.services.queue.job_terms import JobTermsSync
from determined_master.services.queue.job_why import JobWhy
from determined_master.services.search.previews import SearchPreviews
from determined_master.services.tasks.allocations import Allocations
from determined_master.services.tasks.control import TaskControl
from determined_master.services.tasks.generic_tasks import GenericTasks
from determined_master.services.tasks.interactive_tasks import InteractiveTasks
from determined_master.services.tasks.proxies import Proxies
from determined_master.services.tasks.tasks import Tasks
from determined_master.services.tasks.tensorboards import Tensorboards
from determined_master.services.workspaces.namespaces import WorkspaceNamespaces
from determined_master.services.workspaces.project_columns import ProjectColumns
from determined_master.services.workspaces.projects import Projects
from determined_master.services.workspaces.workspaces import Workspaces


@dataclass(frozen=True)
class Services:
    """One attribute a resource; made once by `composition/services.py`."""

    auth: Auth
    users: Users
    groups: Groups
    roles: Roles
    guard: Guard
    access_tokens: AccessTokens
    master: Master
    cluster_messages: ClusterMessages
    identities: Identities
    experiments: Experiments
    experiment_lists: ExperimentLists
    experiment_search: ExperimentSearch
    runs: Runs
    run_bulk: RunBulk
    project_columns: ProjectColumns
    series: SeriesReads
    experiment_edits: ExperimentEdits
    experiment_bulk: ExperimentBulk
    continuations: Continuations
    trials: Trials
    detached: Detached
    metrics: Metrics
    system_metrics: SystemMetrics
    checkpoints: Checkpoints
    collections: CheckpointGc
    checkpoint_files: CheckpointFiles
    model_files: ModelFiles
    task_logs: TaskLogs
    log_retention: LogRetention
    tasks: Tasks
    task_control: TaskControl
    generic_tasks: GenericTasks
    interactive_tasks: InteractiveTasks
    tensorboards: Tensorboards
    templates: Templates
    config_policies: ConfigPolicies
    models: Models
    model_versions: ModelVersions
    trial_sources: TrialSources
    allocations: Allocations
    agents: Agents
    agent_switches: AgentSwitches
    job_queue: JobQueue
    job_changes: JobChanges
    job_terms: JobTermsSync
    job_why: JobWhy
    search_previews: SearchPreviews
    pools: Pools
    pool_bindings: PoolBindings
    workspaces: Workspaces
    namespaces: WorkspaceNamespaces
    projects: Projects
    proxies: Proxies
    stories: Stories
    harness: Harness
    usage: Usage
    live: LiveAllocations
    serve_agent: Callable[[Any], Awaitable[None]]
    """Runs one agent's socket, given Starlette's `WebSocket`, to its end."""
