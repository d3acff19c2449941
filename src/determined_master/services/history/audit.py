"""The audit log: changes of users, roles, tokens, workspaces and settings."""

from __future__ import annotations

import logging
from collections.abc import Sequence
from datetime import datetime
from typing import TYPE_CHECKING

import msgspec

from determined_master import clock
from determined_master.domain.access import rules as access
from determined_master.domain.errors import InvalidArgument
from determined_master.records.audit import AuditEntry, ChangedUsers, StoredAuditEntry
from determined_master.store.access import audit as rows
from determined_master.store.access import users
from determined_master.store.connection_errors import DATABASE_ERRORS

if TYPE_CHECKING:
    from determined_master.domain.access.rules import Caller
    from determined_master.store.db import Conn, Database

log = logging.getLogger(__name__)

MAX_ENTRIES = 1000
DEFAULT_ENTRIES = 200
MAX_PATH = 500
MAX_NAMED = 20
"""Users that an entry names; of the others it has the number."""


class AuditLog:
    """What users changed in the cluster itself."""

    def __init__(self, db: Database) -> None:
        self._db = db

    async def record(
        self,
        user: tuple[int, str],
        operation: str,
        method: str,
        path: bytes,
        changed: ChangedUsers | None = None,
    ) -> None:
        """Store a successful request of a user (id, name), with the users that it changed.

        A database that does not answer is logged: the change is made, and the client must not
        repeat it.
        """
        entry = AuditEntry(
            at=clock.now(),
            user_id=user[0],
            username=user[1],
            operation=operation,
            method=method,
            path=path.decode("ascii", "replace")[:MAX_PATH],
        )
        try:
            async with self._db.acquire() as conn:
                if changed is not None:
                    details = await _details(conn, changed)
                    entry = msgspec.structs.replace(entry, details=details)
                await rows.insert_entry(conn, entry)
        except DATABASE_ERRORS:
            log.exception(
                "an entry of the audit log is not stored", extra={"operation": operation}
            )

    async def list_entries(
        self, caller: Caller, *, before: int, user_id: int, since: datetime | None, limit: int
    ) -> Sequence[StoredAuditEntry]:
        """Entries, the newest first; for those who may configure the cluster.

        Raises:
            PermissionDenied: the caller may not.
            InvalidArgument: the limit is out of bounds.
        """
        access.may(caller, "configure", "cluster")
        if not 0 <= limit <= MAX_ENTRIES:
            raise InvalidArgument(
                f"limit is {limit}: it must be 1 to {MAX_ENTRIES}, or 0 for {DEFAULT_ENTRIES}"
            )
        async with self._db.acquire() as conn:
            return await rows.list_entries(
                conn, before=before, user_id=user_id, since=since, limit=limit or DEFAULT_ENTRIES
            )


async def _details(conn: Conn, changed: ChangedUsers) -> str:
    """`deactivated ann (2), bob (3) and 40 more`, with the names of that time."""
    ids = list(dict.fromkeys(changed.user_ids))
    named = await users.list_users_of(conn, ids[:MAX_NAMED])
    texts = [f"{user.username} ({user.id})" for user in named]
    more = f" and {len(ids) - MAX_NAMED} more" if len(ids) > MAX_NAMED else ""
    return f"{changed.change} {', '.join(texts)}{more}".strip()
