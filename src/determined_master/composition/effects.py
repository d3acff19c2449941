"""Registers the handlers of all effects."""

from __future__ import annotations

from typing import TYPE_CHECKING

from determined_master.services.checkpoints.effects import GcEffects
from determined_master.services.configs.defaults import task_defaults
from determined_master.services.containers.pod_terms import PodTermsReader
from determined_master.services.containers.specs import ContainerSpecs
from determined_master.services.experiments.effects import ExperimentEffects
from determined_master.services.experiments.trial_effects import TrialEffects
from determined_master.services.tasks.allocation_effects import AllocationEffects
from determined_master.services.tasks.generic_effects import GenericTaskEffects
from determined_master.services.tasks.interactive_effects import InteractiveEffects

if TYPE_CHECKING:
    from determined_master.composition.core_services import CoreServices
    from determined_master.ports.agents import ClusterBackend
    from determined_master.services.checkpoints.gc import CheckpointGc
    from determined_master.services.cluster.pools import Pools
    from determined_master.settings.master import Settings


def register_effects(
    base: CoreServices, runner: ClusterBackend, pools: Pools, checkpoint_gc: CheckpointGc
) -> None:
    """Register a handler for every effect, before the engine runs.

    Args:
        runner: takes the orders about containers.
    """
    settings, engine, db, tokens = base.settings, base.engine, base.db, base.tokens
    limits = settings.config_limits
    ExperimentEffects(engine, db, base.live, limits.max_waiting_trials).register()
    TrialEffects(engine, db, tokens, pools).register()
    GenericTaskEffects(engine, db, tokens).register()
    InteractiveEffects(engine, db, tokens).register()
    GcEffects(engine, db, tokens, checkpoint_gc, _aux_pool(settings)).register()
    specs = ContainerSpecs(db, tokens, task_defaults(settings))
    pods = PodTermsReader(settings, db)
    AllocationEffects(engine, runner, specs, base.policies, pods).register()


def _aux_pool(settings: Settings) -> str:
    """The pool of checkpoint GC tasks."""
    chosen = settings.resource_manager.default_aux_resource_pool
    return chosen or settings.resource_pools[0].pool_name
