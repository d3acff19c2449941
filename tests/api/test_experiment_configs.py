"""Configurations over the API: checked, kept, changed, and what is stored of old."""

from __future__ import annotations

import json
from typing import Any

import msgspec
import pytest
from tests.api import cases_experiments as scene
from tests.api.client import Client
from tests.api.samples import World
from tests.api.scenes import reaches, run_to_end, trials_of
from tests.covers import covers

from determined_master.aggregates.experiments import SearchContexts
from determined_master.domain.search.decision import SearchError
from determined_master.services.access.users import Users
from determined_master.store.db import Database

PATH = "/api/v1/experiments"
BASE = "entrypoint: x\nsearcher: {name: single, metric: loss}\n"
UUID = "6a9cb3c5-0d62-4dd0-a3c9-0d1c1c1e1d11"


async def created(client: Client, config: str = BASE, **body: Any) -> dict[str, Any]:
    answer = await client("POST", PATH, {"config": config, "activate": False, **body})
    assert answer.status == 200, answer.body
    made: dict[str, Any] = answer.json()["experiment"]
    return made


@covers("experiment-config 1.validate_only")
async def test_a_check_alone_answers_with_an_empty_experiment_and_makes_none(
    admin: Client,
) -> None:
    body = {"config": BASE, "validateOnly": True}
    answer = (await admin("POST", PATH, body)).json()
    assert (answer["experiment"]["id"], answer["config"]) == (0, None)
    assert (await admin("GET", PATH)).json()["experiments"] == []
    refused = await admin("POST", PATH, {**body, "config": BASE + "bogus: 1\n"})
    assert (refused.status, "bogus" in refused.text) == (400, True)


@covers("experiment-config 1.all_at_once 1.prefix")
async def test_every_mistake_is_reported_in_one_answer(admin: Client) -> None:
    text = "max_restarts: -1\nsearcher: {name: single}\nbogus: [1]\nbind_mounts: [{}]\n"
    answer = await admin("POST", PATH, {"config": text})
    assert answer.status == 400
    assert answer.text.startswith("invalid experiment configuration: ")
    lines = answer.text.split("config is invalid: ", 2)[-1].split("\n")
    assert [line.split(":")[0] for line in lines] == sorted(line.split(":")[0] for line in lines)
    for path in ("", ".max_restarts", ".searcher", ".bind_mounts[0]", ".entrypoint"):
        assert [line for line in lines if line.startswith(f"<config>{path}: ")], (path, lines)


@covers("experiment-config 1.1 21.original")
async def test_the_text_is_kept_as_it_was_submitted(admin: Client) -> None:
    text = BASE + "# a comment\ndata: {1: a, 1e-4: 1e-4}\n"
    made = await created(admin, text)
    assert made["originalConfig"] == text
    got = (await admin("GET", f"{PATH}/{made['id']}")).json()
    assert got["experiment"]["originalConfig"] == text
    assert got["config"]["data"] == {"1": "a", "1e-4": 1e-4}


@covers("experiment-config 2.mutable 21.patch")
async def test_name_notes_description_and_labels_change(admin: Client) -> None:
    number = (await created(admin))["id"]
    body = {"name": "n", "notes": "# md", "description": "d", "labels": ["x", "y"]}
    assert (await admin("PATCH", f"{PATH}/{number}", body)).status == 200
    got = (await admin("GET", f"{PATH}/{number}")).json()
    assert {key: got["experiment"][key] for key in body} == body
    kept = {key: got["config"][key] for key in ("name", "description", "labels")}
    assert kept == {"name": "n", "description": "d", "labels": ["x", "y"]}


@covers("experiment-config 2.data 14.masking 21.obfuscation")
async def test_secrets_are_masked_wherever_a_configuration_is_shown(
    admin: Client, pool: Database
) -> None:
    secret = (
        "data: {url: u, secrets: {a: topsecret}}\n"
        "checkpoint_storage: {type: s3, bucket: b, access_key: topsecret, secret_key: topsecret}\n"
        "environment: {registry_auth: {username: u, password: topsecret}}\n"
    )
    made = await created(admin, BASE + secret)
    for path in (f"{PATH}/{made['id']}", PATH):
        body = json.loads((await admin("GET", path)).body)
        for experiment in (body.get("experiment"), *body.get("experiments", ())):
            assert "topsecret" not in json.dumps((experiment or {}).get("config"))
    query = "SELECT config->'data'->'secrets'->>'a' FROM experiments WHERE id = $1"
    async with pool.acquire() as conn:
        assert await conn.fetchval(query, made["id"]) == "topsecret"


async def test_a_checkpoint_shows_its_storage_and_no_other_secret(world: World) -> None:
    await scene.ended(world)
    more = {
        "data": {"secrets": {"a": "hidden"}},
        "checkpoint_storage": {"type": "s3", "bucket": "b", "secret_key": "needed"},
    }
    async with world.services[Users]._db.acquire() as conn:
        query = "UPDATE experiments SET config = config || $2 WHERE id = $1"
        await conn.execute(query, int(world.names["experiment_id"]), more)
    path = f"/api/v1/checkpoints/{world.names['uuid']}"
    answer = (await world.clients["admin"]("GET", path)).json()
    shown = answer["checkpoint"]["training"]["experimentConfig"]
    assert shown["data"] == {"secrets": {"a": "********"}}
    assert shown["checkpoint_storage"]["secret_key"] == "needed"


@covers("experiment-config 5.source_trial_id 5.source_checkpoint_uuid 25.source")
async def test_a_search_from_what_is_not_there_is_refused_and_nothing_made(world: World) -> None:
    admin = world.clients["admin"]
    await scene.ended(world)
    own, trial = world.names["uuid"], world.names["trial_id"]
    searcher = "entrypoint: x\nsearcher: {{name: single, metric: loss, {}}}\n"
    empty = (await scene.submitted(world, activate=False))["trial_id"]
    before = len((await admin("GET", PATH)).json()["experiments"])
    for source, said in (
        (f"source_checkpoint_uuid: {UUID}", f"checkpoint '{UUID}' not found"),
        (f"source_trial_id: {empty}", f"trial {empty} has no checkpoint"),
        ("source_trial_id: 999", "trial 999 has no checkpoint"),
        ("source_checkpoint_uuid: x", "must be the UUID of a checkpoint"),
    ):
        answer = await admin("POST", PATH, {"config": searcher.format(source)})
        assert (answer.status, said in answer.text) == (400, True), answer.text
    assert len((await admin("GET", PATH)).json()["experiments"]) == before
    both = f"source_trial_id: {trial}, source_checkpoint_uuid: {UUID}"
    made = await created(admin, searcher.format(both), activate=True)
    [child] = await trials_of(world, made["id"])
    assert child["warmStartCheckpointUuid"] == own


@covers("experiment-config 6.trial_created 6.progress_event 6.nan_progress")
async def test_progress_of_a_trial_lies_between_0_and_1(world: World) -> None:
    await scene.running(world)
    admin, names = world.clients["admin"], world.names
    path = f"{PATH}/{names['experiment_id']}"
    assert (await admin("GET", path)).json()["experiment"]["progress"] == 0
    trial = f"/api/v1/trials/{names['trial_id']}/progress"
    assert (await admin("POST", trial, {"progress": 0.5})).status == 200
    for wrong in (-0.1, 1.5, "NaN"):
        assert (await admin("POST", trial, {"progress": wrong})).status == 400
    assert (await admin("GET", path)).json()["experiment"]["progress"] == 0.5


@covers("experiment-config 6.progress")
async def test_progress_of_a_search_counts_its_closed_trials(world: World) -> None:
    config = (
        "entrypoint: x\nsearcher: {name: grid, metric: loss}\n"
        "hyperparameters: {x: {type: categorical, vals: [1, 2]}}\n"
    )
    made = await created(world.clients["admin"], config, activate=True)
    first, second = await trials_of(world, made["id"], 2)
    await run_to_end(world, f"{first['taskId']}.1", 0)
    path = f"{PATH}/{made['id']}"
    await scene.until(
        world.clients["admin"], path, lambda got: got["experiment"]["progress"] == 0.5
    )
    await run_to_end(world, f"{second['taskId']}.1", 0)
    assert (await reaches(world, made["id"], "STATE_COMPLETED"))["progress"] == 1


@covers("experiment-config 14.gc_join 14.gc_keep")
async def test_a_checkpoint_has_the_metric_of_the_validation_at_its_steps(world: World) -> None:
    await scene.running(world)
    await scene.report(world)
    admin, names = world.clients["admin"], world.names
    validated = names["uuid"]
    later = {
        "taskId": names["task_id"],
        "allocationId": names["allocation_id"],
        "uuid": UUID,
        "reportTime": "2026-11-21T05:59:17.792Z",
        "resources": {"a.txt": "1"},
        "metadata": {"steps_completed": 4},
        "state": "STATE_COMPLETED",
    }
    assert (await admin("POST", "/api/v1/checkpoints", later)).status == 200
    preview = f"/experiments/{names['experiment_id']}/preview_gc?save_experiment_best={{}}"
    rest = "&save_trial_best={}&save_trial_latest={}"
    for counts, doomed in (
        ((9, 9, 0), [UUID]),
        ((0, 0, 1), [validated]),
        ((0, 0, 0), [validated, UUID]),
    ):
        found = (await admin("GET", (preview + rest).format(*counts))).json()["checkpoints"]
        assert sorted(c["UUID"] for c in found) == sorted(doomed)


@covers("experiment-config 21.fork")
async def test_a_fork_is_checked_again(admin: Client) -> None:
    parent = (await created(admin))["id"]
    bad = {"config": BASE + "max_restarts: -1\n", "parentId": parent}
    answer = await admin("POST", PATH, bad)
    assert (answer.status, "max_restarts" in answer.text) == (400, True)
    assert (await created(admin, parentId=parent))["forkedFrom"] == parent


@covers("experiment-config 24.searchers 5.custom")
async def test_an_experiment_of_a_removed_searcher_is_shown_and_its_search_says_why_it_ends(
    admin: Client, pool: Database
) -> None:
    number = (await created(admin))["id"]
    old = {"name": "custom", "metric": "loss", "unit": "epochs", "more": 1}
    query = "UPDATE experiments SET config = jsonb_set(config, '{searcher}', $2) WHERE id = $1"
    async with pool.acquire() as conn:
        await conn.execute(query, number, old)
        context = await SearchContexts().load(conn, str(number), None)
    assert (await admin("GET", f"{PATH}/{number}")).json()["config"]["searcher"] == old
    with pytest.raises(SearchError, match="custom has been removed"):
        context.method.trial_ended({}, context.memory, "r", "clean")


async def test_the_schema_for_editors_describes_the_searcher(user: Client) -> None:
    answer = await user("GET", "/api/v1/schemas/experiment-config")
    assert answer.status == 200
    assert answer.headers["content-type"] == "application/schema+json"
    assert msgspec.json.decode(answer.body)["properties"]["searcher"]


@covers("experiment-config 1.2 1.3")
@pytest.mark.parametrize("text", ["", "[1]", "just words", "a: 1\na: 2\n", "a: [\n"])
async def test_an_invalid_configuration_is_refused_with_the_reason(
    admin: Client, text: str
) -> None:
    answer = await admin("POST", PATH, {"config": text})
    assert answer.status == 400
    assert "expected object" in answer.text or "line" in answer.text
