"""Housekeeping drops what nobody asks for and makes partitions ahead of time."""

from __future__ import annotations

import pytest

from determined_master.services.access.passwords import Passwords
from determined_master.services.cluster.bootstrap import bootstrap
from determined_master.store.db import Database
from determined_master.store.experiments.experiments import insert_model_definition
from determined_master.sweeps.maintenance import sweep

pytestmark = pytest.mark.slow


async def test_old_answers_go_and_new_ones_stay(pool: Database) -> None:
    await pool.execute(
        "INSERT INTO requests (user_id, idempotency_key, answer, created_at) VALUES "
        "(1, 'old', '{}', now() - interval '8 days'), (1, 'new', '{}', now())"
    )
    await sweep(pool)
    assert await pool.fetchval("SELECT array_agg(idempotency_key) FROM requests") == ["new"]


async def test_keys_of_agents_go_a_day_after_their_machines(pool: Database) -> None:
    for agent in ("gone", "ended just now", "back again", "no machine"):
        await pool.execute("INSERT INTO agent_keys VALUES ($1, '', now())", agent)
    for agent, end in (
        ("gone", "now() - interval '25 hours'"),
        ("ended just now", "now()"),
        ("back again", "now() - interval '25 hours'"),
        ("back again", "NULL"),
    ):
        await pool.execute(
            "INSERT INTO machine_stays (pool, machine_id, agent_name, state, is_spot, slots, "
            "started_at, seen_at, ended_at) "
            f"VALUES ('p', $1, $1, '', false, 1, now(), now(), {end})",
            agent,
        )
    await sweep(pool)
    agents = await pool.fetchval("SELECT array_agg(agent_id ORDER BY agent_id) FROM agent_keys")
    assert agents == ["back again", "ended just now", "no machine"]


async def test_lines_of_the_next_weeks_have_partitions_of_their_own(pool: Database) -> None:
    await sweep(pool)
    await sweep(pool)
    count = "SELECT count(*) FROM pg_inherits WHERE inhparent = 'task_logs'::regclass"
    assert await pool.fetchval(count) == 4  # three weeks and the rest
    await pool.execute(
        "INSERT INTO task_logs (task_id, logged_at, log, stored_at) VALUES "
        "('t', now(), 'x', now() + interval '7 days')"
    )
    assert await pool.fetchval("SELECT count(*) FROM task_logs_default") == 0


async def test_a_week_with_lines_in_the_default_partition_stops_no_sweep(pool: Database) -> None:
    insert = (
        "INSERT INTO task_logs (task_id, logged_at, log, stored_at) VALUES "
        "('t', now(), 'x', now() + interval '7 days')"
    )
    await pool.execute(insert)
    await sweep(pool)
    await pool.execute(insert)
    assert await pool.fetchval("SELECT count(*) FROM task_logs_default") == 2
    count = "SELECT count(*) FROM pg_inherits WHERE inhparent = 'task_logs'::regclass"
    assert await pool.fetchval(count) == 3


async def test_model_directories_that_no_experiment_has_go(pool: Database) -> None:
    passwords = Passwords(memory_kib=8, time_cost=1)
    await bootstrap(pool, passwords, "Secret-1234", None)
    passwords.close()
    digests = [bytes([n]) * 32 for n in range(3)]
    insert = "INSERT INTO model_definitions (digest, tgz) VALUES ($1, 'x')"
    for digest in digests:
        await pool.execute(insert, digest)
    experiment = """
        INSERT INTO experiments (job_id, user_id, workspace_id, project_id, state, name, config,
            original_config, seed, searcher_type, searcher_metric, smaller_is_better,
            resource_pool, model_definition, started_at)
        SELECT gen_random_uuid(), u.id, p.workspace_id, p.id, 'COMPLETED', 'e', '{}', '', 0,
               'single', 'loss', true, 'default', $1, now() FROM users u, projects p LIMIT 1
    """
    await pool.execute(experiment, digests[0])
    async with pool.acquire() as conn, conn.transaction():
        await insert_model_definition(conn, digests[1], b"x")  # of one that is being created
        await sweep(pool)
        await conn.execute(experiment, digests[1])
    left = "SELECT array_agg(digest ORDER BY digest) FROM model_definitions"
    assert await pool.fetchval(left) == digests[:2]


async def test_months_of_the_journal_without_aggregates_are_dropped(pool: Database) -> None:
    for month, end in (("2020-01-01", "2020-02-01"), ("2020-02-01", "2020-03-01")):
        name = "journal_" + month[:7].replace("-", "_")
        await pool.execute(
            f"CREATE TABLE {name} PARTITION OF journal FOR VALUES FROM ('{month}') TO ('{end}')"
        )
        for kind, id in (("experiment", "1"), ("trial", "1")):
            await pool.execute(
                "INSERT INTO journal (born, kind, id, version, cause, event, at)"
                f" VALUES ('{month}', $1, $2, 1, 'c', '{{}}', now())",
                kind,
                f"{id}{month[6]}",
            )
    # A deleted experiment of January, and a trial of February that is still there.
    await pool.execute(
        "INSERT INTO aggregates (kind, id, version, born, state) VALUES"
        " ('experiment', '11', 1, '2020-01-01', '{}'), ('trial', '12', 1, '2020-02-01', '{}')"
    )
    await sweep(pool)
    await sweep(pool)
    parts = "SELECT array_agg(inhrelid::regclass::text) FROM pg_inherits"
    left = await pool.fetchval(f"{parts} WHERE inhparent = 'journal'::regclass")
    assert left == ["journal_2020_02"]
    assert await pool.fetchval("SELECT array_agg(kind) FROM aggregates") == ["trial"]
