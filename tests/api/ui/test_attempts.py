"""Attempts of trials, and why rows of lists failed."""

from __future__ import annotations

from datetime import timedelta
from typing import Any

import pytest
from tests.api import cases_experiments as scene
from tests.api.client import Client
from tests.api.hidden import ok
from tests.api.samples import World
from tests.store.rows import STARTED, add_allocation, add_experiment, add_project, add_trial

from determined_master.services.tasks.attempts import MAX_FAILURES
from determined_master.store.db import Database

pytestmark = pytest.mark.slow

CAUSE = {
    "kind": "exception",
    "type": "ValueError",
    "file": "t.py",
    "line": 5,
    "log_position": 812,
    "text": "ValueError: no · t.py:5",
}


async def a_failed_trial(pool: Database, **columns: Any) -> tuple[int, int]:
    """A trial that failed in its second attempt, and its experiment."""
    state = {"state": "ERROR", "ended_at": STARTED + timedelta(minutes=5)}
    experiment = await add_experiment(pool, await add_project(pool), **state)
    trial = await add_trial(pool, experiment, **state, reason="exit code 1", **columns)
    await add_attempt(pool, experiment, trial, 1, exit_reason="exit code 1")
    await add_attempt(pool, experiment, trial, 2, exit_reason="exit code 1", cause=CAUSE)
    return experiment, trial


async def add_attempt(
    pool: Database, experiment: int, trial: int, number: int, **columns: Any
) -> str:
    begin = STARTED + timedelta(minutes=number)
    allocation = await add_allocation(
        pool, experiment, trial_id=trial, started_at=begin, ended_at=begin, **columns
    )
    task = allocation.rpartition(".")[0]
    await pool.execute("UPDATE trials SET task_id = $2 WHERE id = $1", trial, task)
    return allocation


async def failures(client: Client, **body: Any) -> dict[str, Any]:
    answer: dict[str, Any] = await ok(client, "POST", "/api/ui/v1/failures", body)
    return answer


async def test_attempts_have_their_number_agents_times_and_cause(
    user: Client, pool: Database
) -> None:
    _, trial = await a_failed_trial(pool)
    answer = await ok(user, "GET", f"/api/ui/v1/trials/{trial}/attempts")
    newest, first = answer["attempts"]
    assert (answer["total"], newest["number"], first["number"]) == (2, 2, 1)
    assert newest["startedAt"] == "2026-01-01T00:02:00Z"
    assert (first["exitReason"], first["failure"], first["agents"]) == ("exit code 1", None, [])
    failure = newest["failure"]
    assert (failure["text"], failure["logPosition"]) == (CAUSE["text"], "812")
    assert failure["trialId"] == trial


async def test_an_attempt_names_the_agents_that_ran_it_after_its_end(world: World) -> None:
    await scene.finished(world)
    path = f"/api/ui/v1/trials/{world.names['trial_id']}/attempts"
    [attempt] = (await ok(world.clients["admin"], "GET", path))["attempts"]
    assert (attempt["agents"], attempt["slots"], attempt["number"]) == (["a1"], 1, 1)
    assert attempt["endedAt"] is not None


async def test_failed_rows_have_their_sentence_and_its_place_in_the_log(
    user: Client, pool: Database
) -> None:
    experiment, trial = await a_failed_trial(pool)
    answer = await failures(user, trialIds=[trial], experimentIds=[experiment])
    row = {"text": CAUSE["text"], "trialId": trial, "logPosition": "812"}
    assert answer == {"trials": [{"id": trial, **row}], "experiments": [{"id": experiment, **row}]}


async def test_without_a_cause_a_failed_row_has_its_reason(user: Client, pool: Database) -> None:
    experiment = await add_experiment(
        pool, await add_project(pool), state="ERROR", reason="its searcher failed"
    )
    trial = await add_trial(pool, experiment, state="ERROR", reason="no agent fits")
    answer = await failures(user, trialIds=[trial], experimentIds=[experiment])
    assert [row["text"] for row in answer["trials"]] == ["no agent fits"]
    assert [row["text"] for row in answer["experiments"]] == ["its searcher failed"]
    assert answer["experiments"][0]["trialId"] == 0


async def test_rows_that_did_not_fail_or_do_not_exist_are_left_out(
    user: Client, pool: Database
) -> None:
    experiment = await add_experiment(pool, await add_project(pool))
    trial = await add_trial(pool, experiment)
    answer = await failures(user, trialIds=[trial, 999], experimentIds=[experiment, 999])
    assert answer == {"trials": [], "experiments": []}


async def test_too_many_rows_are_refused_with_the_number_that_is_allowed(user: Client) -> None:
    ids = list(range(1, MAX_FAILURES + 2))
    answer = await user("POST", "/api/ui/v1/failures", {"trialIds": ids})
    assert answer.status == 400
    assert f"at most {MAX_FAILURES}" in answer.body.decode()
