"""Lists of which one row's stored data cannot be shown: the others are still listed."""

from __future__ import annotations

from typing import Any

import pytest
from tests.api.client import Client
from tests.api.hidden import ok
from tests.store.rows import add_experiment, add_trial

from determined_master import entropy
from determined_master.store.db import Database

LISTS = {
    "runs": ("POST", "/api/v1/runs", {"limit": 10}),
    "runs of a sort": ("POST", "/api/v1/runs", {"limit": 10, "sort": "duration=asc"}),
    "experiments-search": ("POST", "/api/v1/experiments-search", {"limit": 10}),
    "experiments": ("GET", "/api/v1/experiments", None),
    "experiments by name": ("GET", "/api/v1/experiments?sortBy=SORT_BY_NAME", None),
    "trials": ("GET", "/api/v1/experiments/{experiment}/trials", None),
    "checkpoints": ("GET", "/api/v1/experiments/{experiment}/checkpoints", None),
}
CASES = {
    "runs": ("runs", "UPDATE runs SET started_at = '20000-01-01' WHERE id = {trial}"),
    "runs of a sort": ("runs", "UPDATE runs SET ended_at = '20000-01-01' WHERE id = {trial}"),
    "experiments-search": ("experiments", "UPDATE experiments SET config = '{{}}' WHERE id = {e}"),
    "experiments": ("experiments", "UPDATE experiments SET config = '{{}}' WHERE id = {e}"),
    "experiments by name": (
        "experiments",
        "UPDATE experiments SET started_at = '20000-01-01' WHERE id = {e}",
    ),
    "trials": ("trials", "UPDATE trials SET started_at = '20000-01-01' WHERE id = {trial}"),
    "checkpoints": ("checkpoints", "UPDATE checkpoints SET resources = '[]' WHERE steps = 1"),
}
"""By list: the member of its answer, and a statement that breaks one row."""


@pytest.mark.slow
@pytest.mark.parametrize("which", CASES)
async def test_a_broken_row_costs_one_row(admin: Client, pool: Database, which: str) -> None:
    member, damage = CASES[which]
    experiment, other = [await add_experiment(pool, 1) for _ in range(2)]
    trials = [await add_trial(pool, experiment) for _ in range(3)]
    saved = """
        INSERT INTO checkpoints (uuid, trial_id, experiment_id, state, reported_at, steps)
        VALUES ($1, $2, $3, 'COMPLETED', now(), $4)
    """
    for steps in (1, 2):
        await pool.execute(saved, entropy.new_uuid(), trials[0], experiment, steps)
    method, path, body = LISTS[which]
    path = path.format(experiment=experiment)

    async def count() -> int:
        answer: Any = await ok(admin, method, path, body)
        return len(answer[member])

    whole = await count()
    await pool.execute(damage.format(trial=trials[1], e=other))
    assert await count() == whole - 1


PAGES = {
    "experiment": (
        "UPDATE experiments SET config = '{{}}' WHERE id = {experiment}",
        "/api/v1/experiments/{experiment}",
        "experiment {experiment} cannot be shown: its stored data cannot be read (KeyError",
    ),
    "experiment of a far year": (
        "UPDATE experiments SET started_at = '20000-01-01' WHERE id = {experiment}",
        "/api/v1/experiments/{experiment}",
        "experiment {experiment} cannot be shown: its stored data cannot be read (",
    ),
    "trial": (
        "UPDATE trials SET started_at = '20000-01-01' WHERE id = {trial}",
        "/api/v1/trials/{trial}",
        "trial {trial} cannot be shown: its stored data cannot be read (",
    ),
}
"""By page: a statement that breaks its row, its route, and the start of the answer."""


@pytest.mark.slow
@pytest.mark.parametrize("which", PAGES)
async def test_the_page_of_a_broken_row_names_it(
    admin: Client, pool: Database, which: str
) -> None:
    damage, path, text = PAGES[which]
    experiment = await add_experiment(pool, 1)
    ids = {"experiment": experiment, "trial": await add_trial(pool, experiment)}
    assert (await admin("GET", path.format(**ids))).status == 200
    await pool.execute(damage.format(**ids))
    answer = await admin("GET", path.format(**ids))
    assert answer.status == 400
    assert answer.json()["error"]["error"].startswith(text.format(**ids))
