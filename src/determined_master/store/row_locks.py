"""The order in which rows of trials and experiments are locked.

Trials before experiments, each by id. A flush of metrics, the engine's transactions and what
users do to experiments all touch both; who needs more than one row takes them here, first, so
that nobody waits for somebody who waits for them.
"""

from __future__ import annotations

from collections.abc import Collection

from determined_master.store.db import Conn


async def lock_rows(
    conn: Conn, trials: Collection[int] = (), experiments: Collection[int] = ()
) -> None:
    """Lock rows until the transaction ends; those that do not exist are passed over."""
    lock_trials = """
        SELECT id FROM trials WHERE id = ANY ($1::int[]) ORDER BY id FOR NO KEY UPDATE
    """
    if not experiments:
        await conn.execute(lock_trials, sorted(trials))
        return
    # The count is needed before the first experiment is looked at.
    both = f"""
        WITH locked AS MATERIALIZED ({lock_trials})
        SELECT FROM experiments
         WHERE id = ANY ($2::int[]) AND (SELECT count(*) FROM locked) >= 0
         ORDER BY id FOR NO KEY UPDATE
    """
    await conn.execute(both, sorted(trials), sorted(experiments))


async def lock_experiment_with_runs(conn: Conn, experiment_id: int) -> None:
    """Lock all trials of an experiment, then the experiment: to change what lists show of all."""
    trials = "SELECT FROM trials WHERE experiment_id = $1 ORDER BY id FOR NO KEY UPDATE"
    await conn.execute(trials, experiment_id)
    await conn.execute("SELECT FROM experiments WHERE id = $1 FOR NO KEY UPDATE", experiment_id)
