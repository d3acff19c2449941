"""The first start gives an empty database its users, once, with a password that somebody knows."""

from __future__ import annotations

import asyncio
from collections.abc import Iterator
from pathlib import Path

import pytest

from determined_master.services.access.passwords import Passwords, hashed_form
from determined_master.services.cluster.bootstrap import PASSWORD_FILE, bootstrap
from determined_master.store.db import Database

pytestmark = pytest.mark.slow


@pytest.fixture
def passwords() -> Iterator[Passwords]:
    made = Passwords(memory_kib=8, time_cost=1)
    yield made
    made.close()


async def lets_in(pool: Database, passwords: Passwords, directory: Path) -> bool:
    """Whether the password in a directory is that of both users."""
    written = hashed_form((directory / PASSWORD_FILE).read_text().strip(), is_hashed=False)
    stored = [row["password_hash"] for row in await pool.fetch("SELECT password_hash FROM users")]
    assert len(stored) == 2
    return all([await passwords.matches(each, written) for each in stored])


async def test_a_password_that_could_not_be_written_belongs_to_nobody(
    pool: Database, passwords: Passwords, tmp_path: Path
) -> None:
    """As on a full disk; and a kill at the same place finds the same rows."""
    with pytest.raises(FileNotFoundError):
        await bootstrap(pool, passwords, "", tmp_path / "missing")
    made = await bootstrap(pool, passwords, "", tmp_path)
    assert await lets_in(pool, passwords, tmp_path)
    assert await bootstrap(pool, passwords, "", tmp_path / "missing") == made


async def test_masters_that_start_together_make_one_cluster(
    pool: Database, passwords: Passwords, tmp_path: Path
) -> None:
    both = await asyncio.gather(*(bootstrap(pool, passwords, "", tmp_path) for _ in range(2)))
    assert both[0] == both[1]
    assert await lets_in(pool, passwords, tmp_path)
