"""The first contents of an empty database."""

from __future__ import annotations

import os
import sys
from pathlib import Path
from typing import TYPE_CHECKING

import msgspec

from determined_master import clock, entropy
from determined_master.services.access.passwords import hashed_form

if TYPE_CHECKING:
    from determined_master.services.access.passwords import Passwords
    from determined_master.store.db import Conn, Database

PASSWORD_FILE = "initial-password"


class Cluster(msgspec.Struct, frozen=True, kw_only=True):
    """What makes this cluster this one."""

    cluster_id: str
    secret: bytes
    join_token: str


async def bootstrap(
    db: Database, passwords: Passwords, initial_password: str, directory: Path | None
) -> Cluster:
    """Make the cluster's identity, its first users and its first workspace, once.

    Args:
        pool: a migrated database.
        passwords: hashes them.
        initial_password: for both users; empty: a random one, printed once and written to
            `directory`.
        directory: where the random password is written, readable for its owner alone.

    Raises:
        OSError: the password could not be written; nothing was made, and the next start begins
            again.
    """
    async with db.acquire() as conn:
        while (known := await _find_cluster(conn)) is None:
            await _make_cluster(conn, passwords, initial_password, directory)
    return known


async def _make_cluster(
    conn: Conn, passwords: Passwords, initial_password: str, directory: Path | None
) -> None:
    password = initial_password or f"{entropy.token()[:20]}aA1"
    hashed = await passwords.hash(hashed_form(password, is_hashed=False))
    async with conn.transaction():
        if not await _insert_cluster(conn):
            return  # another master that started at the same time was faster
        await _insert_first_rows(conn, hashed)
        if not initial_password:
            # Before the commit: of a master that is killed between the two, or whose disk is
            # full, a password that nobody knows would be the only one forever.
            _tell(password, directory)


async def _find_cluster(conn: Conn) -> Cluster | None:
    row = await conn.fetchrow("SELECT cluster_id::text, secret, join_token FROM cluster")
    return None if row is None else Cluster(**row)


async def _insert_cluster(conn: Conn) -> bool:
    """Whether there was none; waits for a transaction that is making one."""
    query = """
        INSERT INTO cluster (cluster_id, secret, join_token, created_at)
        VALUES ($1, $2, $3, $4) ON CONFLICT DO NOTHING RETURNING true
    """
    secret, join_token = entropy.token().encode(), entropy.token()
    given = (str(entropy.new_uuid()), secret, join_token, clock.now())
    return bool(await conn.fetchval(query, *given))


async def _insert_first_rows(conn: Conn, hashed: str) -> None:
    add_user = """
        INSERT INTO users (username, display_name, admin, active, remote, password_hash,
                           modified_at)
        VALUES ($1, '', $2, true, false, $3, $4) RETURNING id
    """
    now = clock.now()
    admin_id = await conn.fetchval(add_user, "admin", True, hashed, now)
    await conn.fetchval(add_user, "determined", False, hashed, now)
    workspace_id = await conn.fetchval(
        "INSERT INTO workspaces (name, user_id, immutable) "
        "VALUES ('Uncategorized', $1, true) RETURNING id",
        admin_id,
    )
    await conn.execute(
        "INSERT INTO projects (workspace_id, name, key, user_id, immutable) "
        "VALUES ($1, 'Uncategorized', 'UNCAT', $2, true)",
        workspace_id,
        admin_id,
    )


def _tell(password: str, directory: Path | None) -> None:
    where = ""
    if directory is not None:
        path = directory / PASSWORD_FILE
        descriptor = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600)
        with os.fdopen(descriptor, "w") as file:
            file.write(password + "\n")
            file.flush()
            os.fsync(file.fileno())
        where = f" (also in {path})"
    # To the terminal and not to the log: every user may read the master's log.
    sys.stdout.write(
        f"First start: the users admin and determined have the password {password}{where}.\n"
        "Change it with `det user change-password`.\n"
    )
    sys.stdout.flush()
