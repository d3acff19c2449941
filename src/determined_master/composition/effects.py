"""Who carries out which effect."""

from __future__ import annotations

from typing import TYPE_CHECKING

from determined_master.services.checkpoints.effects import CollectionEffects
from determined_master.services.configs.defaults import task_defaults
from determined_master.services.containers.pod_terms import PodTermsReader
from determined_master.services.containers.specs import ContainerSpecs
from determined_master.services.experiments.effects import ExperimentEffects
from determined_master.services.experiments.trial_effects import TrialEffects
from determined_master.services.tasks.allocation_effects import AllocationEffects
from determined_master.services.tasks.generic_effects import GenericTaskEffects
from determined_master.services.tasks.interactive_effects import InteractiveEffects

if TYPE_CHECKING:
    from determined_master.composition.foundation import Foundation
    from determined_master.ports import ClusterBackend
    from determined_master.services.checkpoints.gc import Collections
    from determined_master.services.cluster.pools import Pools
    from determined_master.settings.master import Settings


def register_effects(
    base: Foundation, runner: ClusterBackend, pools: Pools, collections: Collections
) -> None:
    """Give the engine a handler for every effect; before it runs.

    Args:
        runner: takes the orders about containers.
    """
    settings, engine, pool, tokens = base.settings, base.engine, base.pool, base.tokens
    ExperimentEffects(engine, pool).register()
    TrialEffects(engine, pool, tokens, pools).register()
    GenericTaskEffects(engine, pool, tokens).register()
    InteractiveEffects(engine, pool, tokens).register()
    CollectionEffects(engine, pool, tokens, collections, _aux_pool(settings)).register()
    specs = ContainerSpecs(pool, tokens, task_defaults(settings))
    pods = PodTermsReader(settings, pool)
    AllocationEffects(engine, runner, specs, base.policies, pods).register()


def _aux_pool(settings: Settings) -> str:
    """Where collections of garbage run."""
    chosen = settings.resource_manager.default_aux_resource_pool
    return chosen or settings.resource_pools[0].pool_name
