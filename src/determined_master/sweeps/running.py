"""Keeps the smaller loops running: one that fails costs neither the master nor the others."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Awaitable, Callable
from functools import partial

log = logging.getLogger(__name__)

PAUSE_S = 5.0


async def keep_running(loop: Callable[[], Awaitable[None]], pause_s: float = PAUSE_S) -> None:
    """Run a loop, and again `pause_s` seconds after it has failed; cancelled at the master's end.

    For loops whose state is in the database, so that a new beginning loses nothing. What a
    database that is away raises they wait out themselves; here arrives what nobody foresaw, or
    a lead that was lost in the middle of a round.
    """
    named = loop.func if isinstance(loop, partial) else loop
    name = getattr(named, "__qualname__", repr(named))
    while True:
        try:
            await loop()
        except Exception:
            log.exception("a loop has failed and begins again", extra={"loop": name})
        await asyncio.sleep(pause_s)
