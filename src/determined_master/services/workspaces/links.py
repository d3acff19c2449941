"""Use cases of the web UI's short links, which keep states too long for an address."""

from __future__ import annotations

import hashlib
from datetime import datetime, timedelta
from typing import TYPE_CHECKING

from determined_master import clock, entropy
from determined_master.domain.access import rules as access
from determined_master.domain.allowances import LINKS
from determined_master.domain.errors import InvalidArgument, NotFound
from determined_master.records.pages import LinkRow
from determined_master.store.workspaces import links as rows

if TYPE_CHECKING:
    from determined_master.domain.access.rules import Caller
    from determined_master.store.db import Database

MAX_STATE_BYTES = 64 * 1024
LIFE = timedelta(days=365)
ID_LENGTH = 16
MAX_ID = 64


class Links:
    """Links of all users. The id of a link, which nobody can guess, is enough to read it."""

    def __init__(self, db: Database) -> None:
        self._db = db

    async def create(self, caller: Caller, state: str) -> tuple[str, datetime]:
        """Store a state (JSON); the link's id and its end. The same state has the same id.

        Raises:
            InvalidArgument: it is too long.
        """
        access.may(caller, "read", "project")
        text = state.encode()
        if len(text) > MAX_STATE_BYTES:
            raise InvalidArgument(
                f"state has {len(text)} bytes: it may have at most {MAX_STATE_BYTES}"
            )
        now = clock.now()
        digest = hashlib.sha256(text).digest()
        made = entropy.token()[:ID_LENGTH]
        async with self._db.acquire() as conn, conn.transaction():
            link_id = await rows.upsert_link(conn, caller.user_id, made, state, digest, now)
            await rows.delete_old_links(conn, caller.user_id, now - LIFE, LINKS)
        return link_id, now + LIFE

    async def get(self, link_id: str) -> LinkRow:
        """The state of a link. Raises NotFound: there is none, or it has expired."""
        async with self._db.acquire() as conn:
            row = await rows.find_link(conn, link_id[:MAX_ID], clock.now() - LIFE)
        if row is None:
            raise NotFound(f"link '{link_id[:MAX_ID]}' not found: links expire after a year")
        return row
