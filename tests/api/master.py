"""A master without agents: every service on a real database, and the engine at work.

No pool plans anything, so what is submitted stays queued; tests that need a running container
use `tests/scenarios`.
"""

from __future__ import annotations

import asyncio
import contextlib
import os
from collections.abc import AsyncIterator, Mapping, Sequence
from pathlib import Path
from typing import Any
from unittest.mock import patch

import msgspec
from tests.prepared_data import ROOT_OF_RUN

from determined_master import clock
from determined_master.app import App
from determined_master.backends.agents.registry import switched
from determined_master.composition.backends import TestBackends
from determined_master.domain.access.rules import Caller
from determined_master.domain.machines.agent_switches import Switches
from determined_master.engine import Engine
from determined_master.ports.agents import AgentSnapshot, ClusterBackend
from determined_master.ports.kubernetes import KubernetesCluster
from determined_master.ports.orders import StartOrder
from determined_master.services.access.passwords import Passwords
from determined_master.services.catalog import Services
from determined_master.services.cluster import web_ui
from determined_master.services.cluster.bootstrap import bootstrap
from determined_master.settings.master import Settings
from determined_master.settings.sections import Cache, WebhookSettings
from determined_master.store.db import Address, Database
from determined_master.store.logs import task_logs
from determined_wire.agent_link import Device

PASSWORD = "Secret-1234"
SETTINGS = Settings(
    checkpoint_storage={"type": "shared_fs", "host_path": "/tmp/storage"},
    webhooks=WebhookSettings(signing_key="key of the tests", allowed_networks=("127.0.0.0/8",)),
)
NO_WEB_UI = Path("/nonexistent/webui")
ADMIN = Caller(user_id=1, username="admin", is_admin=True)


def snapshot(agent_id: str, **overrides: Any) -> AgentSnapshot:
    """An agent of one CPU slot on a machine of its own name."""
    values: dict[str, Any] = {
        "id": agent_id,
        "pool": "default",
        "hostname": agent_id,
        "address": "127.0.0.1",
        "devices": (Device(id=0, brand="cpu x 2 cores", uuid="GenuineIntel", type="cpu"),),
        "is_connected": True,
        "registered_at": clock.now(),
        "version": "0.39.0",
    }
    return AgentSnapshot(**(values | overrides))


class OneAgent:
    """A `ClusterBackend` with one agent of one CPU slot that takes every order."""

    def __init__(self) -> None:
        self.orders: list[StartOrder] = []
        self.others: list[AgentSnapshot] = []
        self.account = ""
        self._switches: Mapping[str, Switches] = {}

    def set_switches(self, switches: Mapping[str, Switches]) -> None:
        """What is switched off."""
        self._switches = switches

    def agents(self) -> Sequence[AgentSnapshot]:
        own = snapshot("a1", account=self.account)
        return [switched(agent, self._switches) for agent in (own, *self.others)]

    async def start_container(self, order: StartOrder) -> None:
        """Nothing starts; tests post what the agent would report."""
        self.orders.append(order)

    async def signal_container(
        self, agent_id: str, container_id: str, signal: int, allocation_id: str = ""
    ) -> None:
        """Nothing to signal."""

    async def forget_container(self, agent_id: str, container_id: str) -> None:
        """Nothing to forget."""


@contextlib.asynccontextmanager
async def running_app(
    address: Address,
    pool: Database,
    passwords: Passwords,
    settings: Settings = SETTINGS,
    backend: ClusterBackend | None = None,
    clusters: Mapping[str, KubernetesCluster] | None = None,
    **overrides: Any,
) -> AsyncIterator[App]:
    """A master whose engine leads while this lasts; metrics are flushed.

    Settings of the master by name are taken over. Without `root` there is no web UI.
    """
    cache = Cache(cache_dir=os.environ[ROOT_OF_RUN])
    settings = msgspec.structs.replace(settings, **{"cache": cache, **overrides})
    cluster = await bootstrap(pool, passwords, PASSWORD, None)
    stand_ins = TestBackends(backend or OneAgent(), clusters)
    with patch.object(web_ui, "PACKAGED", NO_WEB_UI):  # it may have been built, or not
        app = App(settings, address, pool, cluster, passwords, stand_ins)
    async with pool.acquire() as conn:
        await task_logs.ensure_partitions(conn, clock.now().date())
    async with asyncio.TaskGroup() as group:
        loops = (
            app.engine.run(),
            app.flusher.run(),
            app.deletions.run(),
            app.deliveries.run(),
        )
        running = [group.create_task(loop) for loop in loops]
        await app.engine.wait_until_leading()
        yield app
        app.close()
        for task in running:
            task.cancel()


@contextlib.asynccontextmanager
async def running_services(
    *arguments: Any, **named: Any
) -> AsyncIterator[tuple[Services, Engine]]:
    """All services and the engine of that master."""
    async with running_app(*arguments, **named) as app:
        yield app.services, app.engine
