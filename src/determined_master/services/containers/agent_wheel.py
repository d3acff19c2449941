"""A wheel of agent and harness, of the version of this master, for machines without one."""

from __future__ import annotations

import asyncio

from determined_master.domain.errors import Unavailable
from determined_wire import wheel as wheels
from determined_wire.wheel import Wheel


class AgentWheel:
    """The wheel, built on first use."""

    def __init__(self) -> None:
        self._wheel: Wheel | None = None
        self._lock = asyncio.Lock()

    async def wheel(self) -> Wheel:
        """Raises Unavailable: the agent is not installed with the master."""
        async with self._lock:
            if self._wheel is None:
                try:
                    self._wheel = await asyncio.to_thread(wheels.build, wheels.AGENT)
                except wheels.NotInstalledError as error:
                    raise Unavailable(f"{error}: the master has no wheel of the agent") from None
            return self._wheel
