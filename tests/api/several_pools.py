"""A master with four resource pools, two of which have agents."""

from __future__ import annotations

import contextlib
from collections.abc import AsyncIterator, Mapping, Sequence
from typing import Any

from tests.api.client import Client
from tests.api.master import PASSWORD, SETTINGS, OneAgent, running_app
from tests.api.samples import World

from determined_master import clock
from determined_master.domain.machines.agent_switches import Switches
from determined_master.ports.agents import AgentSnapshot
from determined_master.services.access.auth import Auth
from determined_master.services.access.passwords import Passwords
from determined_master.settings.master import Settings
from determined_master.settings.pools import ResourceManager, ResourcePool, Scheduler
from determined_master.store.db import Address, Database
from determined_wire.agent_link import Device

POOLS = Settings(
    checkpoint_storage=SETTINGS.checkpoint_storage,
    resource_manager=ResourceManager(
        cluster_name="west",
        metadata={"floor": 2},
        default_compute_resource_pool="main",
        default_aux_resource_pool="side",
    ),
    resource_pools=(
        ResourcePool(pool_name="main", description="the large ones"),
        ResourcePool(
            pool_name="side",
            max_aux_containers_per_agent=7,
            scheduler=Scheduler(type="priority", preemption=True, default_priority=9),
        ),
        ResourcePool(
            pool_name="lab", scheduler=Scheduler(type="fair_share", fitting_policy="worst")
        ),
        ResourcePool(pool_name="spare"),
    ),
)


class SomeAgents(OneAgent):
    """Two agents of four GPUs in pool main, one without slots in pool side."""

    def agents(self) -> Sequence[AgentSnapshot]:
        return [_agent("m1", "main", 4), _agent("m2", "main", 4), _agent("s1", "side", 0)]

    def set_switches(self, switches: Mapping[str, Switches]) -> None:
        """Nothing is switched here."""


def _agent(name: str, pool: str, slots: int) -> AgentSnapshot:
    return AgentSnapshot(
        id=name,
        pool=pool,
        hostname=name,
        address="127.0.0.1",
        devices=tuple(
            Device(id=i, brand="H200", uuid=f"{name}-{i}", type="cuda") for i in range(slots)
        ),
        is_connected=True,
        registered_at=clock.now(),
        version="0.39.0",
    )


@contextlib.asynccontextmanager
async def several_pools(
    database: Address, pool: Database, passwords: Passwords, **settings: Any
) -> AsyncIterator[World]:
    """That master, with clients `admin` and `user`; further settings of the master by name."""
    async with running_app(database, pool, passwords, POOLS, SomeAgents(), **settings) as app:
        clients = {}
        for name, username in (("admin", "admin"), ("user", "determined")):
            opened = await app.services[Auth].login(username, PASSWORD, is_hashed=False)
            clients[name] = Client(app.asgi, opened.token)
        yield World(app.services, app.engine, {}, clients)
