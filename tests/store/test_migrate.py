from pathlib import Path

from determined_master.store import migrate as migrate_module
from determined_master.store.db import Address, Database, connect
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


async def test_a_database_ahead_of_this_master_is_left_alone(pool: Database) -> None:
    await pool.execute("UPDATE alembic_version SET version_num = '9999'")
    async with pool.acquire() as conn:
        assert await migrate(conn) == []
    assert await pool.fetchval("SELECT version_num FROM alembic_version") == "9999"


def test_each_revision_has_a_number_of_its_own() -> None:
    directory = Path(migrate_module.__file__).parent / "migrations"
    numbers = [path.name[:4] for path in directory.glob("*.sql")]
    assert sorted(set(numbers)) == sorted(numbers)
