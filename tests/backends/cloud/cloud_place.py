"""What one test's pool is in any cloud that is served here, and what each provider is told."""

from __future__ import annotations

import abc
from typing import Any, Protocol

from determined_master.ports.machines import MachineProvider, MachineSite


class Server(Protocol):
    """A local cloud."""

    room: int | None
    """How many machines it still starts; None is no end of them."""

    def stop(self) -> None:
        """Answer nobody any more."""


class CloudPlace(abc.ABC):
    """A pool of one test, for `machine_provider_contract`; a subclass makes the providers."""

    server: Server

    @abc.abstractmethod
    def make(self, pool: str) -> MachineProvider:
        """A provider of a pool of this test's master."""

    def again(self) -> MachineProvider:
        return self.make("gpus")

    def other_pool(self) -> MachineProvider:
        return self.make("other")

    async def refuse_launches(self) -> None:
        self.server.room = 0

    async def leave_room_for(self, count: int) -> None:
        self.server.room = count

    async def become_unreachable(self) -> None:
        self.server.stop()


def site(pool: str = "gpus", **changes: Any) -> MachineSite:
    values: dict[str, Any] = {
        "pool": pool,
        "join_token": "join-T0KEN",
        "master_scheme": "http",
        "master_port": 8080,
        "master_cert": "",
        "cluster_id": "cluster-1",
    }
    return MachineSite(**(values | changes))
