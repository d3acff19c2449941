"""Reports of the start scripts of machines on demand, before there is an agent."""

from __future__ import annotations

import logging
import re
from collections.abc import Collection

from determined_master.domain.errors import NotFound
from determined_master.domain.machines.starts import MAX_DETAIL, MachineStart
from determined_master.store.cluster import machines as rows
from determined_master.store.db import Database

log = logging.getLogger(__name__)
_UNPRINTABLE = re.compile(r"[^\x20-\x7e]+")


class MachineStarts:
    """Takes reports from machines that show the token of their pool.

    All machines of a pool have the same one. So one could report about another that has no agent
    yet, and it would be ended.
    """

    def __init__(self, db: Database, pools: Collection[str]) -> None:
        """`pools`: those with machines on demand."""
        self._db = db
        self._pools = frozenset(pools)

    async def report(
        self, pool: str, agent_id: str, start: MachineStart, *, shown_for: str
    ) -> None:
        """Note how far a machine has come.

        Args:
            shown_for: the pool of the token.

        Raises:
            NotFound: the pool has no such machine, or not yet; or the token is of another pool.
        """
        detail = _UNPRINTABLE.sub(" ", start.detail).strip()[:MAX_DETAIL]
        told = MachineStart(step=start.step, detail=detail, has_failed=start.has_failed)
        if pool == shown_for and pool in self._pools:
            async with self._db.acquire() as conn:
                is_known = await rows.set_start(conn, pool, agent_id, told)
            if is_known:
                named = {"pool": pool, "machine": agent_id, "step": start.step}
                if start.has_failed:
                    log.warning(
                        "a machine reports a failure of its start",
                        extra={**named, "detail": detail},
                    )
                else:
                    log.info("a machine reports its start", extra=named)
                return
        raise NotFound(f"machine '{agent_id}' of resource pool '{pool}' not found")
