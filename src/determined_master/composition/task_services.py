"""The parts that services, effects and loops share: tasks and their data."""

from __future__ import annotations

from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING

from determined_master.composition.database import default_storage
from determined_master.composition.pod_questions import forwarding_cluster
from determined_master.services.checkpoints.gc import CheckpointGc
from determined_master.services.configs.defaults import config_layers, idle_timeouts, task_defaults
from determined_master.services.containers.interactive_programs import InteractiveSecrets
from determined_master.services.experiments.configs import ExperimentConfigs
from determined_master.services.logs.retention import LogRetention
from determined_master.services.metrics.flush import Flusher
from determined_master.services.tasks.generic_tasks import GenericTasks
from determined_master.services.tasks.interactive_configs import InteractiveConfigs
from determined_master.services.tasks.interactive_tasks import InteractiveTasks
from determined_master.services.tasks.proxies import Proxies
from determined_master.services.tasks.shares import Entrances, TaskShares
from determined_master.services.workspaces.deletions import ProjectDeletions

if TYPE_CHECKING:
    from determined_master.composition.backends import MasterBackends
    from determined_master.composition.core_services import CoreServices
    from determined_master.composition.queue_services import QueueServices
    from determined_master.domain.config.layers import ConfigLayers


@dataclass(frozen=True)
class TaskServices:
    """Tasks of every kind, their metrics, logs and checkpoints."""

    layers: ConfigLayers
    configs: ExperimentConfigs
    generic: GenericTasks
    interactive: InteractiveTasks
    shares: TaskShares
    flusher: Flusher
    checkpoint_gc: CheckpointGc
    deletions: ProjectDeletions
    retention: LogRetention
    proxies: Proxies


def build_task_services(
    base: CoreServices, queues: QueueServices, backends: MasterBackends
) -> TaskServices:
    """Create the parts for users' tasks, in the pools of these queues."""
    settings, engine, db, tokens = base.settings, base.engine, base.db, base.tokens
    layers = config_layers(settings, default_storage(settings))
    retention = settings.retention_policy
    forwarding = partial(forwarding_cluster, backends)
    proxies = Proxies(base.live, tokens, forwarding)
    shares = TaskShares(db, has_roles=settings.security.authz.has_roles)
    return TaskServices(
        layers=layers,
        configs=ExperimentConfigs(db, layers),
        generic=GenericTasks(engine, db, layers, queues.pools),
        interactive=_interactive_tasks(base, queues, layers, Entrances(shares, proxies.visits)),
        shares=shares,
        flusher=Flusher(db, base.news),
        checkpoint_gc=CheckpointGc(engine, db),
        deletions=ProjectDeletions(engine, db),
        retention=LogRetention(
            db, retention.log_retention_days, retention.schedule, base.logs.forget_values
        ),
        proxies=proxies,
    )


def _interactive_tasks(
    base: CoreServices, queues: QueueServices, layers: ConfigLayers, entrances: Entrances
) -> InteractiveTasks:
    """Commands, notebooks, shells and TensorBoards."""
    settings, pools = base.settings, queues.pools
    configs = InteractiveConfigs(base.db, layers, pools, idle_timeouts(settings))
    secrets = InteractiveSecrets(base.tokens, task_defaults(settings))
    return InteractiveTasks(base.engine, base.db, configs, pools, queues.terms, secrets, entrances)
