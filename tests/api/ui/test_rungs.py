"""The rungs of a search, asked for through the API."""

from __future__ import annotations

import json
import math
import uuid
from typing import Any

import pytest
from tests.api.client import Client
from tests.api.hidden import ok

from determined_master.domain.search.asha import FAILED
from determined_master.domain.search.records import BracketMember, MemberState, RungEntry
from determined_master.store.db import Database
from determined_master.store.experiments import searches

pytestmark = pytest.mark.slow

SEARCHER = {
    "name": "adaptive_asha",
    "metric": "loss",
    "time_metric": "batches",
    "max_time": 16,
    "max_trials": 9,
    "divisor": 4,
    "bracket_rungs": [3, 1],
}


class _Search:
    """The rows of one search, written as its events write them."""

    def __init__(self, pool: Database, experiment: int) -> None:
        self.pool, self.experiment, self.seq = pool, experiment, 0

    async def trial(
        self, bracket: int, *metrics: float, stopped: bool = False, state: MemberState = "open"
    ) -> None:
        """One that has an entry in each of the first rungs; `stopped` by the last of them."""
        id = str(uuid.uuid4())
        member = BracketMember(bracket, id, state=state)
        entries = []
        for rung, metric in enumerate(metrics):
            is_last = stopped and rung == len(metrics) - 1
            entry = RungEntry(bracket, rung, id, metric, stopped=is_last, seq=self.seq)
            entries.append((self.experiment, entry))
            self.seq += 1
        async with self.pool.acquire() as conn:
            await searches.upsert_bracket_members(conn, [(self.experiment, member)])
            if entries:
                await searches.insert_rung_entries(conn, entries)


async def an_experiment(client: Client, searcher: dict[str, Any]) -> int:
    """One whose trials come from elsewhere, so that the search makes none."""
    config = {"name": "a search", "hyperparameters": {}, "searcher": searcher}
    body = {"config": json.dumps(config), "unmanaged": True}
    answer = await ok(client, "POST", "/api/v1/experiments", body)
    return int(answer["experiment"]["id"])


async def a_search(client: Client, pool: Database, **searcher: Any) -> _Search:
    return _Search(pool, await an_experiment(client, SEARCHER | searcher))


async def rungs_of(client: Client, search: _Search) -> list[list[dict[str, Any]]]:
    answer = await ok(client, "GET", f"/api/ui/v1/experiments/{search.experiment}/rungs")
    return [bracket["rungs"] for bracket in answer["brackets"]]


async def test_a_search_that_has_just_begun_has_its_ladders(user: Client, pool: Database) -> None:
    search = await a_search(user, pool)
    await search.trial(0)
    path = f"/api/ui/v1/experiments/{search.experiment}/rungs"
    answer = await ok(user, "GET", path)
    assert (answer["metric"], answer["timeMetric"]) == ("loss", "batches")
    first, second = answer["brackets"]
    assert [rung["length"] for rung in first["rungs"]] == [1, 4, 16]
    assert [rung["length"] for rung in second["rungs"]] == [16]
    assert first["trials"] + second["trials"] >= 9
    assert first["rungs"][0] == {
        "length": 1,
        "training": 1,
        "failed": 0,
        "reached": 0,
        "stopped": 0,
        "best": None,
        "passes": None,
    }


async def test_trials_count_where_they_are(user: Client, pool: Database) -> None:
    search = await a_search(user, pool)
    await search.trial(0, 0.5)  # trains for rung 1
    await search.trial(0, 0.4, 0.3, stopped=True)  # stopped by rung 1
    await search.trial(0, 0.9, stopped=True)  # stopped by rung 0
    await search.trial(0, 0.3, 0.2, 0.1, stopped=True)  # finished
    await search.trial(0, 0.6, FAILED, stopped=True)  # failed on the way to rung 1
    await search.trial(0, 0.7, state="closed")  # ended by itself after rung 0
    await search.trial(0, 0.01, state="invalid")  # never counts
    await search.trial(1)
    first, second = await rungs_of(user, search)
    counts = [
        [rung[name] for name in ("training", "failed", "reached", "stopped", "best")]
        for rung in first
    ]
    assert counts == [[0, 0, 6, 1, 0.3], [1, 1, 2, 1, 0.2], [0, 0, 1, 0, 0.1]]
    assert second[0]["training"] == 1


async def test_nothing_trains_after_the_end(user: Client, pool: Database) -> None:
    search = await a_search(user, pool)
    await search.trial(0, 0.5)
    assert [rung["training"] for rung in (await rungs_of(user, search))[0]] == [0, 1, 0]
    query = "UPDATE experiments SET state = 'ERROR', ended_at = now() WHERE id = $1"
    await pool.execute(query, search.experiment)
    assert [rung["training"] for rung in (await rungs_of(user, search))[0]] == [0, 0, 0]


async def test_a_trial_passes_with_one_of_the_best_metrics(user: Client, pool: Database) -> None:
    search = await a_search(user, pool)
    for metric in (0.1, 0.2, 0.3, 0.4, 0.5, 0.6, 0.7):
        await search.trial(0, metric)
    first, _ = await rungs_of(user, search)
    assert first[0]["passes"] == 0.2, "two of eight are a quarter"
    assert first[1]["passes"] is None, "the first to arrive goes on"


async def test_larger_metrics_have_their_own_sign(user: Client, pool: Database) -> None:
    search = await a_search(user, pool, smaller_is_better=False)
    for metric in (-0.9, -0.8, math.inf):  # the last one was NaN
        await search.trial(0, metric)
    first, _ = await rungs_of(user, search)
    assert (first[0]["best"], first[0]["passes"]) == (0.9, 0.9)


async def test_another_search_has_no_brackets(user: Client) -> None:
    experiment = await an_experiment(user, {"name": "random", "metric": "loss", "max_trials": 3})
    answer = await ok(user, "GET", f"/api/ui/v1/experiments/{experiment}/rungs")
    assert (answer["metric"], answer["brackets"]) == ("loss", [])
    assert (await user("GET", "/api/ui/v1/experiments/999/rungs")).status == 404
