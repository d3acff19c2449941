"""All services of the master, as routes reach them."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from typing import Any

from determined_master.pools.live import LiveAllocations
from determined_master.services.access_tokens import AccessTokens
from determined_master.services.agent_switches import AgentSwitches
from determined_master.services.agents import Agents
from determined_master.services.allocations import Allocations
from determined_master.services.auth import Auth
from determined_master.services.checkpoint_files import CheckpointFiles
from determined_master.services.checkpoints import Checkpoints
from determined_master.services.cluster_messages import ClusterMessages
from determined_master.services.collections import Collections
from determined_master.services.config_policies import ConfigPolicies
from determined_master.services.continuations import Continuations
from determined_master.services.detached import Detached
from determined_master.services.experiment_bulk import ExperimentBulk
from determined_master.services.experiment_edits import ExperimentEdits
from determined_master.services.experiment_lists import ExperimentLists
from determined_master.services.experiment_search import ExperimentSearch
from determined_master.services.experiments import Experiments
from determined_master.services.generic_tasks import GenericTasks
from determined_master.services.groups import Groups
from determined_master.services.guard import Guard
from determined_master.services.harness import Harness
from determined_master.services.identities import Identities
from determined_master.services.interactive_tasks import InteractiveTasks
from determined_master.services.job_changes import JobChanges
from determined_master.services.job_queue import JobQueue
from determined_master.services.job_terms import JobTermsSync
from determined_master.services.job_why import JobWhy
from determined_master.services.log_retention import LogRetention
from determined_master.services.master import Master
from determined_master.services.metrics import Metrics
from determined_master.services.model_files import ModelFiles
from determined_master.services.model_versions import ModelVersions
from determined_master.services.models import Models
from determined_master.services.namespaces import WorkspaceNamespaces
from determined_master.services.pool_bindings import PoolBindings
from determined_master.services.pools import Pools
from determined_master.services.project_columns import ProjectColumns
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
from determined_master.services.trial_sources import TrialSources
from determined_master.services.trials import Trials
from determined_master.services.usage import Usage
from determined_master.services.users import Users
from determined_master.services.workspaces import Workspaces


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
    collections: Collections
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
