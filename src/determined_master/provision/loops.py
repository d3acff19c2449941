"""The loops of all pools with machines on demand."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from datetime import timedelta
from functools import partial
from typing import TYPE_CHECKING

from msgspec.structs import replace

from determined_master.domain.machines.controller.controller_state import ScalingConfig
from determined_master.domain.machines.controller.launch_backoff import LaunchRetryPolicy
from determined_master.domain.machines.cost import Budget
from determined_master.domain.machines.offers import tried_sentence
from determined_master.domain.machines.scaling import Limits
from determined_master.domain.schedule.view import Size
from determined_master.provision.fleet import Fleet
from determined_master.provision.loop import MachineLoop
from determined_master.provision.records import MachineRecords, forget_other_pools
from determined_master.provision.scheduling import Scheduling
from determined_master.provision.workspace_budgets import WorkspaceBudgets

if TYPE_CHECKING:
    from determined_master.domain.machines.scaling import MachineType
    from determined_master.domain.machines.status import MachineStatus
    from determined_master.engine import Engine
    from determined_master.pools.live import LiveAllocations
    from determined_master.pools.loops import PoolLoops
    from determined_master.ports.agents import AgentSnapshot
    from determined_master.ports.machines import MachineProvider
    from determined_master.settings.pools import ResourcePool
    from determined_master.settings.providers.provider import Provider
    from determined_master.store.db import Database


@dataclass(frozen=True)
class LoopDependencies:
    """The parts of the master that all loops need."""

    engine: Engine
    db: Database
    live: LiveAllocations
    agents: Callable[[], Iterable[AgentSnapshot]]
    pools: PoolLoops


class MachineLoops:
    """One loop for each pool that has a provider."""

    def __init__(
        self,
        pools: Iterable[ResourcePool],
        providers: Mapping[str, MachineProvider],
        dependencies: LoopDependencies,
    ) -> None:
        """
        Args:
            pools: of the settings.
            providers: by pool.
            dependencies: the rest of the master.
        """
        self._dependencies = dependencies
        self._providers = providers
        on_demand = [pool for pool in pools if pool.provider is not None]
        self._slot_prices = {
            pool.pool_name: _slot_price(pool.provider, providers[pool.pool_name].type)
            for pool in on_demand
        }
        budgets = WorkspaceBudgets(dependencies.db, dependencies.live, self._slot_price)
        self._loops = {
            pool.pool_name: _loop(pool, providers[pool.pool_name], dependencies, budgets)
            for pool in on_demand
        }

    def status(self, pool: str) -> MachineStatus | None:
        loop = self._loops.get(pool)
        if loop is None:
            return None
        report = self._providers[pool].offers()
        tried = tried_sentence(report.tried, report.cooldowns)
        return replace(loop.status, tried=tried, over_budget=loop.held_back)

    def _slot_price(self, pool: str) -> float | None:
        """Dollars an hour of a slot: of the machines that are there, else the highest that may be
        started; None if it is unknown."""
        loop = self._loops.get(pool)
        price = loop.status.slot_price if loop is not None else None
        return price if price is not None else self._slot_prices.get(pool)

    async def take_over(self, epoch: int) -> None:
        """Take over as leader, before the first agent connects. Raises database errors."""
        for loop in self._loops.values():
            await loop.take_over(epoch)

    async def run(self) -> None:
        """Run all loops until cancelled; raises the database's errors at the start."""
        await self._dependencies.engine.wait_until_leading(timeout_s=None)
        await forget_other_pools(self._dependencies.db, list(self._loops))
        if not self._loops:
            await asyncio.Event().wait()
        async with asyncio.TaskGroup() as group:
            for loop in self._loops.values():
                group.create_task(loop.run())


def sizes_of(
    pools: Iterable[ResourcePool], providers: Mapping[str, MachineProvider]
) -> dict[str, Size]:
    """The capacity of each pool's machines, by pool."""
    return {
        pool.pool_name: _size(pool, pool.provider, providers[pool.pool_name].type)
        for pool in pools
        if pool.provider is not None
    }


def _size(pool: ResourcePool, settings: Provider, type: MachineType) -> Size:
    return Size(type.slots, pool.max_aux_containers_per_agent, settings.max_machines)


def _budget(settings: Provider) -> Budget | None:
    price, budget = settings.highest_price, settings.max_cost_per_hour
    if budget is None or price is None:
        return None
    return Budget(budget, price, settings.max_instances)


def _slot_price(settings: Provider | None, type: MachineType) -> float | None:
    price = settings.highest_price if settings is not None else None
    return price / type.slots if price is not None and type.slots else None


def _loop(
    pool: ResourcePool,
    provider: MachineProvider,
    dependencies: LoopDependencies,
    budgets: WorkspaceBudgets,
) -> MachineLoop:
    name, settings = pool.pool_name, pool.provider
    assert settings is not None  # a pool without machines on demand has no loop
    config = ScalingConfig(
        pool=name,
        limits=Limits(
            min_machines=settings.min_instances,
            max_machines=settings.max_machines,
            max_idle=timedelta(seconds=settings.max_idle_agent_period_s),
            max_starting=timedelta(seconds=settings.max_agent_starting_period_s),
            return_wait=timedelta(seconds=pool.agent_reconnect_wait_s),
        ),
        budget=_budget(settings),
        size=_size(pool, settings, provider.type),
        patience=LaunchRetryPolicy(
            timedelta(seconds=settings.launch_error_timeout_s), settings.launch_error_retries
        ),
    )
    scheduling = Scheduling(
        engine=dependencies.engine,
        live=dependencies.live,
        agents=dependencies.agents,
        decision=partial(dependencies.pools.decision, name),
        cordon=partial(dependencies.pools.cordon, name),
        held_back=budgets.held_back,
    )
    records = MachineRecords(dependencies.db, name, provider.type.slots)
    return MachineLoop(config, Fleet(name, provider, records), scheduling)
