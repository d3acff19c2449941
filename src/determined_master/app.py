"""One master: creates, connects, runs and closes its parts."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from determined_master.api.app import Api
from determined_master.api.http.bodies import Bodies
from determined_master.api.http.cors import Cors
from determined_master.api.proxy.own_origin import ServiceOrigin
from determined_master.api.table import all_routes
from determined_master.composition.backends import NO_TEST_BACKENDS, TestBackends, build_backends
from determined_master.composition.core_services import build_core_services
from determined_master.composition.effects import register_effects
from determined_master.composition.listeners import Listeners
from determined_master.composition.loops import Loops
from determined_master.composition.queue_services import build_queue_services
from determined_master.composition.services import MasterServices
from determined_master.composition.task_services import build_task_services

if TYPE_CHECKING:
    import asyncio

    from determined_master.api.http.exchange import Asgi
    from determined_master.services.access.passwords import Passwords
    from determined_master.settings.master import Settings
    from determined_master.store.cluster.bootstrap import Cluster
    from determined_master.store.db import Address, Database


class App:
    """One master: its connected parts."""

    def __init__(
        self,
        settings: Settings,
        address: Address,
        db: Database,
        cluster: Cluster,
        passwords: Passwords,
        stand_ins: TestBackends = NO_TEST_BACKENDS,
    ) -> None:
        self.settings = settings
        base = build_core_services(settings, address, db, cluster, self._trigger_planning)
        backends = build_backends(base, stand_ins)
        self._queues = queues = build_queue_services(base, backends)
        work = build_task_services(base, queues, backends)
        register_effects(base, backends.runner, queues.pools, work.checkpoint_gc)
        self.engine = base.engine
        self.live = base.live
        self._searches = base.searches
        self._news = base.news
        self.admission = backends.admission
        self.flusher = work.flusher
        self.deletions = work.deletions
        self.deliveries = base.deliveries
        self._parts = MasterServices(base, backends, queues, work, passwords)
        self.services = self._parts.catalog(backends.admission)
        self._api = Api(
            all_routes(),
            self.services,
            base.identities,
            origin=_service_origin(settings),
            bodies=Bodies(Path(settings.cache.cache_dir) / "bodies"),
        )
        self.asgi: Asgi = Cors(self._api) if settings.enable_cors else self._api
        self._loops = Loops(base, backends, queues, work, self._parts)
        Listeners(base, work.proxies).listen()

    async def check_pools(self) -> None:
        """Check the default pools. Raises what `PoolBindings.check_defaults` raises."""
        await self._queues.bindings.check_defaults()

    async def run(self, ready: asyncio.Event) -> None:
        """Lead, plan and flush until cancelled; `ready` is set once agents may connect."""
        await self._loops.run(ready)

    def close(self) -> None:
        """Wait for the threads that serve requests, and end the connections of searches."""
        self._api.close()
        self._parts.updates.live.stop()
        self._parts.checkpoints.media.close()
        self._parts.checkpoints.files.close()
        self._searches.close()

    def _trigger_planning(self, pool: str) -> None:
        self._news.pool(pool)
        self._queues.loops.trigger_planning(pool)


def _service_origin(settings: Settings) -> ServiceOrigin | None:
    """Where browsers open services of tasks.

    The default port is known to lead to this master only for browsers that come to its own port,
    and not by way of another program that forwards them.
    """
    if not settings.service_address:
        return None
    return ServiceOrigin(
        settings.service_address,
        port=settings.proxy.port or 0,
        master_port=0 if settings.proxy.address else settings.port,
    )
