"""Tokens that agents and machines on demand show before they have a key."""

from __future__ import annotations

import hashlib
import hmac
from collections.abc import Collection
from datetime import datetime, timedelta
from typing import TYPE_CHECKING

from determined_master import clock, entropy
from determined_master.domain.access import rules as access
from determined_master.domain.errors import InvalidArgument, Unauthenticated
from determined_master.store.cluster import agent_keys as rows

if TYPE_CHECKING:
    from determined_master.domain.access.rules import Caller
    from determined_master.store.db import Database

LIFE = timedelta(days=1)
"""How long a token of `det agent token` waits for its agent."""
_MAX_ID = 255


def hash_of(secret: str) -> bytes:
    """The stored form. Secrets have 256 random bits, so that no slow hash is needed."""
    return hashlib.sha256(secret.encode()).digest()


def machine_token(cluster_secret: bytes, pool: str) -> str:
    """What the start scripts of a pool's machines show.

    It is the same for all machines of a pool, as a launch template is. It admits a machine of the
    pool once (`services.cluster.admission`): code that reads it later, on a machine that has
    joined, cannot join with it.
    """
    message = f"machines of pool {pool}".encode()
    return hmac.new(cluster_secret, message, hashlib.sha256).hexdigest()


class JoinTokens:
    """Makes tokens for admins, and checks those of start scripts."""

    def __init__(self, db: Database, cluster_secret: bytes, pools: Collection[str]) -> None:
        """`pools`: those with machines on demand."""
        self._db = db
        self._machines = {machine_token(cluster_secret, pool).encode(): pool for pool in pools}

    async def create(self, caller: Caller, agent_id: str) -> tuple[str, datetime]:
        """A token with which one agent joins, and when it expires.

        Args:
            caller: an admin.
            agent_id: an agent that may be known: it gets another key. Empty for any new agent.
        """
        access.may(caller, "edit", "agent")
        if len(agent_id) > _MAX_ID or not agent_id.isprintable():
            raise InvalidArgument(
                f"agent_id {agent_id[:50]!r} is no id of an agent: it has at most {_MAX_ID} "
                "printable characters"
            )
        token, now = entropy.token(), clock.now()
        async with self._db.acquire() as conn:
            await rows.insert_token(conn, hash_of(token), agent_id or None, now, now + LIFE)
        return token, now + LIFE

    def pool_of(self, authorization: bytes) -> str:
        """The pool of the machine that shows `Authorization: Bearer …`. Raises Unauthenticated."""
        shown = authorization.removeprefix(b"Bearer ")
        pools = [p for t, p in self._machines.items() if hmac.compare_digest(shown, t)]
        if not pools:
            raise Unauthenticated(
                "a wrong token of a machine on demand was shown: end the machine, its pool starts "
                "a new one"
            )
        return pools[0]
