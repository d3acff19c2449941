import asyncio
import logging
from collections.abc import AsyncIterator
from pathlib import Path

import pytest
from tests.agent_link import until
from tests.store.rows import STARTED

from determined_master.store import migrate as migrate_module
from determined_master.store.db import Address, Conn, Database, connect
from determined_master.store.migrate import migrate, newest_revision


async def test_a_migrated_database_has_the_newest_revision(pool: Database) -> None:
    assert await pool.fetchval("SELECT version_num FROM alembic_version") == newest_revision()


async def test_migrating_again_changes_nothing(pool: Database) -> None:
    async with pool.acquire() as conn:
        assert await migrate(conn) == []


async def test_an_empty_database_gets_every_revision_in_order(empty_database: Address) -> None:
    conn = await connect(empty_database)
    try:
        applied = await migrate(conn)
        assert applied == sorted(applied)
        assert applied[-1] == newest_revision()
        assert await conn.fetchval("SELECT epoch FROM leader") == 0
    finally:
        await conn.close()


@pytest.fixture
async def before_wide_steps(empty_database: Address) -> AsyncIterator[Conn]:
    """A database of the release whose steps had 32 bits."""
    conn = await connect(empty_database)
    await migrate(conn, upto="0051")
    yield conn
    await conn.close()


async def test_steps_become_64_bit_and_no_report_or_chart_is_lost(before_wide_steps: Conn) -> None:
    conn = before_wide_steps
    await conn.execute(
        "INSERT INTO metrics (trial_id, metric_group, steps, run_id, reported_at, metrics)"
        " SELECT i % 9, 'training', i, 1, $1, jsonb_build_object('loss', i)"
        " FROM generate_series(2147483600, 2147483647) i",
        STARTED,
    )
    await conn.execute(
        "INSERT INTO metric_extremes VALUES"
        " (1, 'training', 'loss', 9, 1, 9, 1, 2147483647, 0.5, 1, 2, 3, '\\x01')"
    )
    tables = ("metrics", "metric_extremes")
    queries = [f"SELECT array_agg(to_jsonb(t) ORDER BY to_jsonb(t)) FROM {t} t" for t in tables]
    earlier = [await conn.fetchval(query) for query in queries]
    await migrate(conn, upto="0055")
    assert [await conn.fetchval(query) for query in queries] == earlier
    keys = await conn.fetchval(
        "SELECT count(*) FROM pg_index WHERE indisvalid AND indrelid IN"
        " (SELECT inhrelid FROM pg_inherits WHERE inhparent = 'metrics'::regclass)"
    )
    assert keys == 16, "of each partition the key, and the index of ids"
    statistics = "SELECT count(*) FROM pg_stats WHERE tablename = 'metrics' AND attname = 'steps'"
    assert await conn.fetchval(statistics) == 1
    narrow = await conn.fetch(
        "SELECT table_name, column_name FROM information_schema.columns"
        " WHERE table_schema = 'public' AND data_type = 'integer'"
        " AND column_name IN ('steps', 'first_steps', 'last_steps', 'low_steps', 'high_steps',"
        " 'total_batches', 'batch')"
    )
    assert narrow == []


async def test_a_long_migration_says_what_it_does_and_that_the_master_waits(
    before_wide_steps: Conn,
    empty_database: Address,
    caplog: pytest.LogCaptureFixture,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    conn = before_wide_steps
    await conn.execute("UPDATE pg_class SET reltuples = 1e6 WHERE relname = 'metrics_3'")
    reader = await connect(empty_database)
    await reader.execute("BEGIN; LOCK TABLE metrics IN ACCESS SHARE MODE")
    monkeypatch.setattr(migrate_module, "PROGRESS_S", 0.01)
    caplog.set_level(logging.INFO)
    migration = asyncio.create_task(migrate(conn))
    waits = "the database is being migrated: the master waits for it"
    await until(lambda: waits in caplog.messages)
    await reader.close()
    await migration
    [notice] = [text for text in caplog.messages if "steps become 64-bit" in text]
    assert "1.0 million metric reports" in notice
    assert "some 8 s" in notice


async def test_a_migration_that_meets_another_masters_statements_is_repeated(
    pool: Database, monkeypatch: pytest.MonkeyPatch
) -> None:
    await pool.execute("CREATE SEQUENCE attempts")
    sql = """
        DO $$ BEGIN
            IF nextval('attempts') < 3 THEN RAISE EXCEPTION USING ERRCODE = '40P01'; END IF;
        END $$
    """
    monkeypatch.setattr(migrate_module, "newest_revision", lambda: "9000")
    monkeypatch.setattr(migrate_module, "_list_after", lambda current: [("9000", sql)])
    async with pool.acquire() as conn:
        assert await migrate(conn) == ["9000"]
    assert await pool.fetchval("SELECT last_value FROM attempts") == 3


async def test_a_transaction_that_waits_for_the_metrics_may_hold_its_trial(
    before_wide_steps: Conn, empty_database: Address
) -> None:
    """A transaction of another master has a trial and waits for the metrics."""
    conn = before_wide_steps
    reader, other = await connect(empty_database), await connect(empty_database)
    await reader.execute("BEGIN; LOCK TABLE metric_places IN ACCESS SHARE MODE")
    migration = asyncio.create_task(migrate(conn))
    waiting = "SELECT count(*) FROM pg_locks WHERE NOT granted"
    async with asyncio.timeout(60):
        while not await other.fetchval(waiting):
            pass
        await other.execute("BEGIN; LOCK TABLE trials IN ROW EXCLUSIVE MODE")
        report = asyncio.create_task(other.execute("LOCK TABLE metrics IN ROW EXCLUSIVE MODE"))
        while await reader.fetchval(waiting) < 2:
            pass
        await reader.execute("COMMIT")
        await report
        await other.execute("COMMIT")
        await migration
    await reader.close()
    await other.close()


async def test_a_database_ahead_of_this_master_is_left_alone(pool: Database) -> None:
    await pool.execute("UPDATE alembic_version SET version_num = '9999'")
    async with pool.acquire() as conn:
        assert await migrate(conn) == []
    assert await pool.fetchval("SELECT version_num FROM alembic_version") == "9999"


def test_each_revision_has_a_number_of_its_own() -> None:
    directory = Path(migrate_module.__file__).parent / "migrations"
    numbers = [path.name[:4] for path in directory.glob("*.sql")]
    assert sorted(set(numbers)) == sorted(numbers)
