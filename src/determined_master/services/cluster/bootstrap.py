"""The first contents of an empty database."""

from __future__ import annotations

import os
import sys
from pathlib import Path
from typing import TYPE_CHECKING

from determined_master import clock, entropy
from determined_master.services.access.passwords import hashed_form
from determined_master.store.cluster.bootstrap import (
    Cluster,
    find_cluster,
    insert_cluster,
    insert_first_rows,
)

if TYPE_CHECKING:
    from determined_master.services.access.passwords import Passwords
    from determined_master.store.db import Conn, Database

PASSWORD_FILE = "initial-password"


async def bootstrap(
    db: Database, passwords: Passwords, initial_password: str, directory: Path | None
) -> Cluster:
    """Make the cluster's identity, its first users and its first workspace, once.

    Args:
        db: a migrated database.
        passwords: hashes them.
        initial_password: for both users; empty: a random one, printed once and written to
            `directory`.
        directory: where the random password is written, readable for its owner alone.

    Raises:
        OSError: the password could not be written; nothing was made, and the next start begins
            again.
    """
    async with db.acquire() as conn:
        while (known := await find_cluster(conn)) is None:
            await _make_cluster(conn, passwords, initial_password, directory)
    return known


async def _make_cluster(
    conn: Conn, passwords: Passwords, initial_password: str, directory: Path | None
) -> None:
    password = initial_password or f"{entropy.token()[:20]}aA1"
    hashed = await passwords.hash(hashed_form(password, is_hashed=False))
    async with conn.transaction():
        new = Cluster(
            cluster_id=str(entropy.new_uuid()),
            secret=entropy.token().encode(),
        )
        if not await insert_cluster(conn, new, clock.now()):
            return  # another master that started at the same time was faster
        await insert_first_rows(conn, hashed, clock.now())
        if not initial_password:
            # Before the commit: if the master is killed between the two, or its disk is full, the
            # only password would otherwise be one that nobody knows.
            _report_password(password, directory)


def _report_password(password: str, directory: Path | None) -> None:
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
