from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path

import pytest
from tests.engine import toy
from tests.engine.conftest import make_engine
from tests.engine.toy import TALLY
from tests.store.rows import add_experiment, add_project, add_trial

from determined_master.engine.story import list_story
from determined_master.store.backup import back_up, restore
from determined_master.store.db import Address, Database, connect, open_database
from determined_master.store.errors import DatabaseError

pytestmark = pytest.mark.slow


@pytest.fixture
async def toy_pool(pool: Database) -> Database:
    """A database with the tables of the toy aggregate."""
    await pool.execute(toy.TABLES)
    return pool


async def fill(database: Address, pool: Database) -> None:
    """Rows of the engine, of users, and of a partition that migrations do not make."""
    async with make_engine(database, pool) as engine:
        await engine.wait_until_leading()
        for n in range(20):
            await engine.post(TALLY, "a", toy.Added(n, tick_s=3600), cause=f"request:{n}")
    await pool.execute(
        "INSERT INTO users (username, modified_at) VALUES ($1, now()), ('b', now())", 'a\t"\\\n'
    )
    await pool.execute(
        "INSERT INTO user_settings (user_id, key, value) VALUES (1, 'k', $1)", {"deep": [1, None]}
    )
    await pool.execute("DROP TABLE tallies, lines")


async def list_rows(pool: Database) -> dict[str, list]:
    tables = ("aggregates", "journal", "timers", "users", "user_settings")
    return {
        table: sorted(map(str, await pool.fetch(f"SELECT * FROM {table}"))) for table in tables
    }


async def test_a_restored_database_has_the_same_rows_and_continues(
    database: Address, toy_pool: Database, empty_database: Address, tmp_path: Path
) -> None:
    await fill(database, toy_pool)
    async with toy_pool.acquire() as conn:
        manifest = await back_up(conn, tmp_path / "backup")
    target = await connect(empty_database)
    await restore(target, tmp_path / "backup")
    await target.close()

    restored = await open_database(empty_database, min_size=1, max_size=5)
    try:
        assert await list_rows(restored) == await list_rows(toy_pool)
        assert {t.name: t.rows for t in manifest.tables}["journal"] == 20
        new = await restored.fetchval(
            "INSERT INTO users (username, modified_at) VALUES ('c', now()) RETURNING id"
        )
        assert new == 3
        await restored.execute(toy.TABLES)
        async with make_engine(empty_database, restored) as engine:
            await engine.wait_until_leading()
            again = await engine.post(TALLY, "a", toy.Added(19), cause="request:19")
            assert again.is_duplicate
            assert (await engine.post(TALLY, "a", toy.Added(1), cause="new")).version == 21
        async with restored.acquire() as conn:
            assert len(await list_story(conn, [("tally", "a")])) == 21
    finally:
        await restored.close()


async def test_a_restored_database_is_ahead_of_the_leads_that_followed_its_backup(
    database: Address, toy_pool: Database, empty_database: Address, tmp_path: Path
) -> None:
    """Agents have obeyed those, and would refuse who comes later with less."""
    epoch = "SELECT epoch FROM leader"
    await fill(database, toy_pool)
    async with toy_pool.acquire() as conn:
        await back_up(conn, tmp_path / "backup")
    await toy_pool.execute(toy.TABLES)
    for _ in range(3):
        async with make_engine(database, toy_pool) as engine:
            await engine.wait_until_leading()
    target = await connect(empty_database)
    await restore(target, tmp_path / "backup")
    first = await target.fetchval(epoch)
    await target.close()
    assert first > await toy_pool.fetchval(epoch)


async def test_journal_partitions_of_other_months_are_restored(
    database: Address, toy_pool: Database, empty_database: Address, tmp_path: Path
) -> None:
    past = make_engine(database, toy_pool, now=lambda: datetime(2031, 12, 5, tzinfo=UTC))
    async with past:
        await past.wait_until_leading()
        await past.post(TALLY, "old", toy.Added(1), cause="1")
    await toy_pool.execute("DROP TABLE tallies, lines")
    async with toy_pool.acquire() as conn:
        await back_up(conn, tmp_path / "backup")
    target = await connect(empty_database)
    try:
        await restore(target, tmp_path / "backup")
        assert await target.fetchval("SELECT count(*) FROM journal_2031_12") == 1
    finally:
        await target.close()


async def test_a_database_with_rows_is_not_restored_over(pool: Database, tmp_path: Path) -> None:
    await pool.execute("INSERT INTO users (username, modified_at) VALUES ('a', now())")
    async with pool.acquire() as conn:
        await back_up(conn, tmp_path / "backup")
        with pytest.raises(DatabaseError, match="not empty"):
            await restore(conn, tmp_path / "backup")


async def test_tables_of_a_later_release_are_not_restored_into(
    pool: Database, tmp_path: Path
) -> None:
    async with pool.acquire() as conn:
        await back_up(conn, tmp_path / "backup")
        await conn.execute("UPDATE alembic_version SET version_num = '9999'")
        with pytest.raises(DatabaseError, match="not empty"):
            await restore(conn, tmp_path / "backup")


async def test_a_file_is_no_directory_for_a_backup(pool: Database, tmp_path: Path) -> None:
    (tmp_path / "file").touch()
    async with pool.acquire() as conn:
        with pytest.raises(DatabaseError, match="cannot be made: File exists; name another one"):
            await back_up(conn, tmp_path / "file")


async def test_a_directory_that_holds_something_is_not_backed_up_into(
    pool: Database, tmp_path: Path
) -> None:
    (tmp_path / "other").write_text("mine")
    async with pool.acquire() as conn:
        with pytest.raises(DatabaseError, match="not empty"):
            await back_up(conn, tmp_path)


async def test_a_damaged_backup_leaves_no_row(
    pool: Database, empty_database: Address, tmp_path: Path
) -> None:
    await pool.execute("INSERT INTO users (username, modified_at) VALUES ('a', now())")
    async with pool.acquire() as conn:
        await back_up(conn, tmp_path / "backup")
    manifest = tmp_path / "backup" / "manifest.json"
    text = manifest.read_text()
    manifest.write_text(text.replace('"rows": 1', '"rows": 2'))
    target = await connect(empty_database)
    try:
        with pytest.raises(DatabaseError, match="damaged"):
            await restore(target, tmp_path / "backup")
        assert await target.fetchval("SELECT count(*) FROM users") == 0

        manifest.write_text(text)
        await restore(target, tmp_path / "backup")  # nothing is in the way of the next try
        assert await target.fetchval("SELECT count(*) FROM users") == 1
    finally:
        await target.close()


@pytest.mark.parametrize("harm", ["cut", "gone", "no gzip"])
async def test_a_file_of_a_backup_that_is_damaged_is_named(
    pool: Database, empty_database: Address, tmp_path: Path, harm: str
) -> None:
    await pool.execute("INSERT INTO users (username, modified_at) VALUES ('a', now())")
    async with pool.acquire() as conn:
        await back_up(conn, tmp_path / "backup")
    file = tmp_path / "backup" / "users.copy.gz"
    if harm == "gone":
        file.unlink()
    else:
        file.write_bytes(file.read_bytes()[:20] if harm == "cut" else b"rows")
    target = await connect(empty_database)
    try:
        with pytest.raises(
            DatabaseError, match=r"users\.copy\.gz is damaged: .*use another backup"
        ):
            await restore(target, tmp_path / "backup")
    finally:
        await target.close()


async def test_a_backup_that_did_not_finish_is_refused(
    empty_database: Address, tmp_path: Path
) -> None:
    target = await connect(replace(empty_database))
    try:
        with pytest.raises(DatabaseError, match="did not finish"):
            await restore(target, tmp_path)
    finally:
        await target.close()


async def test_rows_made_by_triggers_are_restored_unchanged(
    database: Address, pool: Database, empty_database: Address, tmp_path: Path
) -> None:
    experiment = await add_experiment(pool, await add_project(pool))
    for lr in (0.1, 0.2):
        await add_trial(pool, experiment, hparams={"lr": lr})
    async with pool.acquire() as conn:
        await back_up(conn, tmp_path / "backup")
        runs = await conn.fetch("SELECT * FROM runs ORDER BY id")
    target = await connect(empty_database)
    try:
        await restore(target, tmp_path / "backup")
        assert await target.fetch("SELECT * FROM runs ORDER BY id") == runs
        assert await target.fetchval("SELECT count(*) FROM run_values") == 2
    finally:
        await target.close()
    restored = await open_database(empty_database, min_size=1, max_size=2)
    try:
        trial = await add_trial(restored, experiment)
        assert await restored.fetchval("SELECT number FROM runs WHERE id = $1", trial) == 3
    finally:
        await restored.close()
