"""Acting on many runs at once: each succeeds or fails by itself."""

from __future__ import annotations

import json
from typing import Any

import pytest
from tests.api.client import Client
from tests.store.rows import STARTED, add_experiment, add_project, add_trial

from determined_master.store.db import Database


async def ended(
    pool: Database, project: int, runs: int = 1, **columns: Any
) -> tuple[int, list[int]]:
    """An ended experiment of so many ended runs: its id and theirs."""
    state = {"state": "COMPLETED", "ended_at": STARTED}
    kind = "single" if runs == 1 else "random"
    experiment = await add_experiment(
        pool, project, **{"searcher_type": kind, "num_trials": runs, **state, **columns}
    )
    return experiment, [await add_trial(pool, experiment, **state) for _ in range(runs)]


async def act(client: Client, action: str, ids: list[int], **more: Any) -> dict[int, str]:
    """Errors by run, in the order of the answer."""
    body = {"runIds": ids, "projectId": 1, **more}
    answer = await client("POST", f"/api/v1/runs/{action}", body)
    assert answer.status == 200, answer.body
    return {result["id"]: result["error"] for result in answer.json()["results"]}


async def shown(client: Client, project: int = 1) -> dict[int, bool]:
    """Whether each run of a project is archived."""
    answer = await client("POST", "/api/v1/runs", {"projectId": project})
    return {run["id"]: run["archived"] for run in answer.json()["runs"]}


async def test_runs_are_archived_and_shown_again_and_missing_ones_come_first(
    admin: Client, pool: Database
) -> None:
    (_, [first]), (_, [second]) = [await ended(pool, 1) for _ in range(2)]
    results = await act(admin, "archive", [first, 999, second])
    assert list(results) == [999, first, second]
    assert results == {999: "run '999' not found", first: "", second: ""}
    assert await shown(admin) == {first: True, second: True}
    again = await act(admin, "archive", [first])
    assert "already archived" in again[first]
    assert await act(admin, "unarchive", [first]) == {first: ""}
    assert await shown(admin) == {first: False, second: True}


async def test_a_part_of_a_search_is_not_archived_but_the_whole_is(
    admin: Client, pool: Database
) -> None:
    experiment, runs = await ended(pool, 1, 3)
    refused = await act(admin, "archive", runs[:2])
    assert list(refused) == runs[:2]
    assert all(
        f"2 of the 3 trials of experiment {experiment}" in text for text in refused.values()
    )
    assert not any((await shown(admin)).values())
    assert await act(admin, "archive", runs) == dict.fromkeys(runs, "")
    assert all((await shown(admin)).values())


async def test_a_filter_takes_the_place_of_ids(admin: Client, pool: Database) -> None:
    _, [wanted] = await ended(pool, 1, name="wanted")
    _, [other] = await ended(pool, 1, name="other")
    field = {"kind": "field", "columnName": "experimentName", "operator": "=", "value": "wanted"}
    tree = json.dumps({"filterGroup": {"kind": "group", "children": [field]}})
    assert await act(admin, "archive", [], filter=tree) == {wanted: ""}
    assert await shown(admin) == {wanted: True, other: False}


async def test_runs_move_with_their_searches(admin: Client, pool: Database) -> None:
    target = await add_project(pool, "GOAL")
    _, [single] = await ended(pool, 1)
    _, several = await ended(pool, 1, 2)
    body = {"sourceProjectId": 1, "destinationProjectId": target}
    skipped = await act(admin, "move", [single, several[0]], **body, skipMultitrial=True)
    assert skipped == {single: ""}
    assert await act(admin, "move", [several[0]], **body) == {several[0]: ""}
    assert set(await shown(admin, target)) == {single, *several}
    gone = await act(admin, "move", [single], **body)
    assert gone == {single: f"run '{single}' not found"}


async def test_of_another_user_s_runs_the_refusal_is_in_the_answer(
    user: Client, pool: Database
) -> None:
    _, [run] = await ended(pool, 1)
    assert await act(user, "delete", [run]) == {run: "user does not have permission"}


@pytest.mark.parametrize("action", ["pause", "resume"])
async def test_an_ended_run_is_neither_paused_nor_resumed(
    admin: Client, pool: Database, action: str
) -> None:
    _, [run] = await ended(pool, 1)
    assert (await act(admin, action, [run]))[run] != ""


async def test_killing_what_has_ended_changes_nothing(admin: Client, pool: Database) -> None:
    _, runs = await ended(pool, 1, 2)
    assert await act(admin, "kill", [runs[0]]) == {runs[0]: ""}
