"""How long callers may keep a stream or socket open: they are authorized again periodically."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Awaitable, Callable, Collection
from typing import Any

from determined_master.domain.access.rules import Caller
from determined_master.services.failures import UNANSWERED

log = logging.getLogger(__name__)

RECHECK_S = 4.0
"""Maximum time that a connection stays open after its token is revoked."""


class Reauthorization:
    """Of one open connection: `check` raises DetError if a new request would be refused now."""

    def __init__(self, check: Callable[[], Awaitable[object]], every_s: float = RECHECK_S) -> None:
        self._check = check
        self._every_s = every_s

    async def first_of(self, waits: Collection[asyncio.Future[Any]]) -> None:
        """Wait until one of these is done.

        Raises:
            DetError: the caller is no longer authorized; none of the futures is done or cancelled.
        """
        while True:
            done, _ = await asyncio.wait(
                waits, timeout=self._every_s, return_when=asyncio.FIRST_COMPLETED
            )
            if done:
                return
            try:
                await self._check()
            except UNANSWERED as error:  # no caller is refused because the check got no answer
                log.info("an open connection was not looked at", extra={"error": str(error)})


class CallerRecheck:
    """A caller whose token may have to be checked again."""

    def __init__(self, again: Callable[[], Awaitable[Caller]], every_s: float) -> None:
        """`again` finds the caller of the token now, and raises DetError if there is none."""
        self._again = again
        self._every_s = every_s

    def reauthorization(self, may: Callable[[Caller], Awaitable[object]]) -> Reauthorization:
        """For as long as the token is valid and its caller may; `may` raises DetError."""

        async def check() -> None:
            await may(await self._again())

        return Reauthorization(check, self._every_s)


async def _accept() -> None:
    pass


NO_RECHECK = Reauthorization(_accept)
"""Of those who needed no token, and of answers that end by themselves."""
