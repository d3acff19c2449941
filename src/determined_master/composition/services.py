"""Creates all services of a master."""

from __future__ import annotations

from typing import TYPE_CHECKING

from determined_master.backends.object_storage import ObjectStorage
from determined_master.ports import AgentSockets
from determined_master.services.access.access_tokens import AccessTokens, Lives
from determined_master.services.access.auth import Auth
from determined_master.services.access.groups import Groups
from determined_master.services.access.guard import Guard
from determined_master.services.access.passwords import Passwords
from determined_master.services.access.roles import Roles
from determined_master.services.access.users import Users
from determined_master.services.catalog import Services
from determined_master.services.checkpoints.checkpoints import Checkpoints
from determined_master.services.checkpoints.files import CheckpointFiles
from determined_master.services.cluster.agent_switches import AgentSwitches
from determined_master.services.cluster.agents import Agents
from determined_master.services.cluster.master import Master
from determined_master.services.cluster.messages import ClusterMessages
from determined_master.services.cluster.usage import Usage
from determined_master.services.configs.defaults import cluster_priorities
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
from determined_master.services.metrics.metrics import Metrics
from determined_master.services.metrics.series import SeriesReads
from determined_master.services.metrics.system_metrics import SystemMetrics
from determined_master.services.models.models import Models
from determined_master.services.models.versions import ModelVersions
from determined_master.services.queue.job_changes import JobChanges
from determined_master.services.search.previews import SearchPreviews
from determined_master.services.tasks.allocations import Allocations
from determined_master.services.tasks.control import TaskControl
from determined_master.services.tasks.tasks import Tasks
from determined_master.services.tasks.tensorboards import Tensorboards
from determined_master.services.workspaces.moves import Moves
from determined_master.services.workspaces.project_columns import ProjectColumns
from determined_master.services.workspaces.projects import Projects
from determined_master.services.workspaces.workspaces import Workspaces

if TYPE_CHECKING:
    from determined_master.composition.backends import MasterBackends
    from determined_master.composition.foundation import Foundation
    from determined_master.composition.queues import Queues
    from determined_master.composition.work import Work
    from determined_master.store.db import Database


class _AccessServices(TypedDict):
    """The services of users and access."""

    auth: Auth
    identities: Identities
    users: Users
    groups: Groups
    roles: Roles
    guard: Guard
    access_tokens: AccessTokens


class _QueueServices(TypedDict):
    """The services of pools and queues."""

    pools: Pools
    pool_bindings: PoolBindings
    namespaces: WorkspaceNamespaces
    job_queue: JobQueue
    job_changes: JobChanges
    job_terms: JobTermsSync
    job_why: JobWhy


class _CheckpointServices(TypedDict):
    """The services of checkpoints and models."""

    checkpoints: Checkpoints
    checkpoint_files: CheckpointFiles
    collections: CheckpointGc
    models: Models
    model_versions: ModelVersions
    trial_sources: TrialSources


def make_services(
    base: Foundation, backends: MasterBackends, queues: Queues, work: Work, passwords: Passwords
) -> Services:
    """The services of a master, each registered by its type."""
    db, engine = base.db, base.engine
    trials = Trials(engine, db, base.live, work.flusher.summaries)
    experiments = Experiments(engine, db, work.configs, queues.pools)
    lists, tasks = ExperimentLists(db), Tasks(db)
    detached, access = Detached(engine, db), _access_services(base, passwords)
    switches = AgentSwitches(engine, db, backends.runner, base.live, base.trigger_planning)
    return Services(
        **access,
        **_queue_services(base, backends, queues),
        **_checkpoint_services(db, work),
        master=Master(base.facts, db, base.settings.masked),
        cluster_messages=ClusterMessages(db),
        experiments=experiments,
        model_files=ModelFiles(experiments),
        experiment_lists=lists,
        experiment_search=ExperimentSearch(db, lists, trials),
        runs=Runs(db, base.live),
        run_bulk=RunBulk(db),
        project_columns=ProjectColumns(db),
        series=SeriesReads(db, work.flusher.points),
        experiment_edits=ExperimentEdits(db, work.collections, queues.terms, queues.pools),
        experiment_bulk=ExperimentBulk(db),
        continuations=Continuations(engine, db, work.configs, queues.bindings),
        trials=trials,
        detached=detached,
        system_metrics=(samples := SystemMetrics(db)),
        metrics=Metrics(engine, db, work.flusher, samples, detached.note_report),
        task_logs=base.logs,
        log_retention=work.retention,
        tasks=tasks,
        task_control=TaskControl(
            tasks, trials, experiments, work.generic, work.interactive, base.live
        ),
        generic_tasks=work.generic,
        interactive_tasks=work.interactive,
        tensorboards=Tensorboards(db, work.interactive),
        templates=Templates(db),
        config_policies=ConfigPolicies(db, cluster_priorities(base.settings)),
        allocations=Allocations(engine, db, base.live),
        agents=Agents(backends.runner, base.live, base.cluster.join_token),
        agent_switches=switches,
        workspaces=Workspaces(
            db, queues.bindings, work.deletions, access["roles"], backends.namespaces
        ),
        projects=Projects(db, work.deletions, Moves(queues.bindings, queues.pools)),
        proxies=work.proxies,
        search_previews=SearchPreviews(work.layers),
        stories=Stories(db),
        harness=Harness(),
        usage=Usage(db),
        live=base.live,
        serve_agent=backends.admission.serve,
    )
    services.add(AgentSockets, backends.door)
    return services


def _access_services(base: Foundation, passwords: Passwords) -> _AccessServices:
    db, known, security = base.db, base.identities, base.settings.security
    lives = Lives(security.token.default_lifespan_days, security.token.max_lifespan_days)
    return _AccessServices(
        auth=Auth(db, passwords, known),
        identities=known,
        users=Users(db, passwords, known),
        groups=Groups(db, known),
        roles=Roles(db, known, security.authz.creator_role_id),
        guard=Guard(db),
        access_tokens=AccessTokens(db, known, lives),
    )


def _queue_services(base: Foundation, backends: MasterBackends, queues: Queues) -> _QueueServices:
    parts = (base.db, queues.queue, queues.pools, queues.bindings, queues.terms)
    is_strict = base.settings.security.authz.strict_job_queue_control
    return _QueueServices(
        pools=queues.pools,
        pool_bindings=queues.bindings,
        namespaces=backends.namespaces,
        job_queue=queues.queue,
        job_changes=JobChanges(*parts, is_strict=is_strict),
        job_terms=queues.terms,
        job_why=queues.job_why,
    )


def _checkpoint_services(db: Database, work: Work) -> _CheckpointServices:
    checkpoints = Checkpoints(db)
    return _CheckpointServices(
        checkpoints=checkpoints,
        checkpoint_files=CheckpointFiles(db, checkpoints, ObjectStorage()),
        collections=work.collections,
        models=Models(db),
        model_versions=ModelVersions(db),
        trial_sources=TrialSources(db),
    )
