"""What an applier's statements cost does not depend on how large the tables were at first."""

from __future__ import annotations

from datetime import date
from typing import Any

import pytest

from determined_master import clock
from determined_master.engine.applying import applier, statements
from determined_master.engine.applying.applier import Applier
from determined_master.engine.applying.queue import PostQueue
from determined_master.engine.applying.transaction import Term, ensure_partition
from determined_master.engine.connection import engine_connect
from determined_master.store.db import Address, Conn, Database

pytestmark = pytest.mark.slow
BORN = date(2026, 1, 1)
MANY = 5000
ASKED = 64


@pytest.mark.parametrize(("at_first", "is_analyzed"), [(1, False), (1, True), (500, False)])
async def test_causes_are_looked_up_one_by_one_in_a_journal_that_has_grown(
    database: Address, pool: Database, at_first: int, is_analyzed: bool
) -> None:
    applier = await engine_connect(database)()
    try:
        await ensure_partition(applier, BORN)
        await applier.execute(
            "INSERT INTO aggregates (kind, id, version, born, state) "
            "VALUES ('experiment', '1', 1, $1, '{}')",
            BORN,
        )
        await add_lines(pool, 1, at_first)
        if is_analyzed:
            await pool.execute("VACUUM ANALYZE journal")
        causes = [f"cause-{n}" for n in range(MANY - ASKED // 2, MANY + ASKED // 2)]
        given = (["experiment"], ["1"], ["experiment"] * ASKED, ["1"] * ASKED, causes)
        await applier.fetch(statements.LOCK, *given, statements.EPOCH_LOCK)
        await add_lines(pool, at_first + 1, MANY)
        before = await index_reads(pool)
        found = await applier.fetch(statements.LOCK, *given, statements.EPOCH_LOCK)
    finally:
        await applier.close()
    assert {r["cause"] for r in found if r["cause"]} == set(causes[: ASKED // 2 + 1])
    assert ASKED // 2 <= await index_reads(pool) - before <= ASKED


async def test_a_batch_reads_its_own_rows_of_tables_that_have_grown(
    database: Address, pool: Database, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The first plans are those of empty tables, as in a new cluster or after an idle night."""
    monkeypatch.setattr(applier, "REPLAN_S", 0.0)
    sink: Any = None
    worker = Applier(
        PostQueue(limit=1, batch=1), Term(1, clock.now), engine_connect(database), sink
    )
    ids = [str(n) for n in range(ASKED)]
    asked = (["trial"] * ASKED, ids, ["trial"] * ASKED, ids, ids)
    conn = await worker._connection()
    try:
        await conn.fetch(statements.LOCK, *asked, statements.EPOCH_LOCK)
        await pool.execute(
            """
            INSERT INTO aggregates (kind, id, version, born, state)
            SELECT 'trial', n::text, 1, $2, '{}' FROM generate_series(1, $1) AS n
            """,
            MANY,
            BORN,
        )
        before = await state_reads(conn)
        conn = await worker._connection()
        await conn.fetch(statements.LOCK, *asked, statements.EPOCH_LOCK)
        assert ASKED // 2 <= await state_reads(conn) - before <= 4 * ASKED
    finally:
        await conn.close()


async def state_reads(conn: Conn) -> int:
    """Entries of the index of states that were read so far."""
    await conn.execute("SELECT pg_stat_force_next_flush()")
    await conn.execute("SELECT pg_stat_clear_snapshot()")
    reads: int = await conn.fetchval(
        "SELECT idx_tup_read FROM pg_stat_user_indexes WHERE indexrelname = 'aggregates_pkey'"
    )
    return reads


async def add_lines(pool: Database, first: int, last: int) -> None:
    await pool.execute(
        """
        INSERT INTO journal (born, kind, id, version, cause, event, at)
        SELECT $3, 'experiment', '1', n, 'cause-' || n, '{}', now()
          FROM generate_series($1::bigint, $2::bigint) AS n
        """,
        first,
        last,
        BORN,
    )


async def index_reads(pool: Database) -> int:
    """Entries of the journal's indexes that were read so far."""
    async with pool.acquire() as conn:
        await conn.execute("SELECT pg_stat_clear_snapshot()")
        reads: int = await conn.fetchval(
            "SELECT sum(idx_tup_read)::bigint FROM pg_stat_user_indexes "
            "WHERE relname LIKE 'journal\\_%'"
        )
        return reads
