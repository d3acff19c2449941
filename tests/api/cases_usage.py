"""Cases of reports on usage."""

from __future__ import annotations

from datetime import UTC, datetime

from tests.api.samples import Case, World
from tests.store.rows import add_experiment, add_project, add_trial

from determined_master.services.workspaces.projects import Projects

BEFORE = datetime(2026, 11, 21, 5, 0, tzinfo=UTC)
WITHIN = datetime(2026, 11, 21, 5, 40, tzinfo=UTC)
TEXT = "a table of other things; its columns are looked at by tests of their own"


async def a_report_then(world: World) -> None:
    """A trial that reported within the hour that the samples are about."""
    if "used" in world.shared:
        return
    pool = world.services[Projects]._db
    number = await add_experiment(pool, await add_project(pool, "USED"))
    trial = await add_trial(pool, number, started_at=BEFORE, ended_at=WITHIN, state="COMPLETED")
    query = """
        INSERT INTO metrics (trial_id, metric_group, steps, run_id, reported_at, metrics)
        VALUES ($1, 'training', 1, 1, $2, '{}')
    """
    await pool.execute(query, trial, WITHIN)
    world.shared["used"] = number


CASES: dict[str, Case] = {
    "usage.raw": Case(a_report_then),
    "usage.bad": Case(phrase="invalid start date"),
    "plain.usage.raw": Case(a_report_then, free=frozenset("*"), why=TEXT),
    "plain.usage.csv": Case(a_report_then, free=frozenset("*"), why=TEXT),
}
