"""Changing experiments over the API, one and many at once."""

from __future__ import annotations

from typing import Any
from urllib.parse import quote

from tests.api import cases_experiments as scene
from tests.api.client import Client
from tests.covers import covers

PATH = "/api/v1/experiments"
BULK = "/api/v1/projects/1/experiments"


async def created(client: Client, name: str = "e") -> int:
    config = f"{{name: {name}, entrypoint: x, searcher: {{name: single, metric: loss}}}}"
    answer = await client("POST", PATH, {"config": config, "activate": False})
    return int(answer.json()["experiment"]["id"])


async def killed(client: Client) -> int:
    number = await created(client)
    await client("POST", f"{PATH}/{number}/kill")
    await scene.until(
        client, f"{PATH}/{number}", lambda got: got["experiment"]["state"] == "STATE_CANCELED"
    )
    return number


async def config_of(client: Client, number: int) -> dict[str, Any]:
    config: dict[str, Any] = (await client("GET", f"{PATH}/{number}")).json()["config"]
    return config


@covers("experiment-config 21.patch")
async def test_resources_and_the_checkpoint_policy_change_in_the_configuration(
    admin: Client,
) -> None:
    number = await created(admin)
    body = {
        "resources": {"priority": 7, "weight": 2.5, "maxSlots": 4},
        "checkpointStorage": {"saveExperimentBest": 2, "saveTrialBest": 0, "saveTrialLatest": 3},
    }
    answer = await admin("PATCH", f"{PATH}/{number}", body)
    assert answer.status == 200, answer.body
    config = await config_of(admin, number)
    resources, storage = config["resources"], config["checkpoint_storage"]
    assert (resources["priority"], resources["weight"], resources["max_slots"]) == (7, 2.5, 4)
    kept = [storage[f"save_{n}"] for n in ("experiment_best", "trial_best", "trial_latest")]
    assert kept == [2, 0, 3]
    assert storage["type"] == "shared_fs"


@covers("experiment-config 14.gc_editing 21.patch")
async def test_a_wrong_value_is_named_and_nothing_is_changed(admin: Client) -> None:
    number = await created(admin)
    before = await config_of(admin, number)
    for body, path in (
        ({"resources": {"priority": 500}, "name": "z"}, "resources.priority"),
        ({"resources": {"weight": -1}}, "resources.weight"),
        ({"checkpointStorage": {"saveTrialBest": -1}}, "checkpoint_storage.save_trial_best"),
        ({"name": "  "}, "name"),
    ):
        answer = await admin("PATCH", f"{PATH}/{number}", body)
        assert (answer.status, path in answer.text) == (400, True), answer.text
    assert await config_of(admin, number) == before


async def test_an_ended_experiment_has_no_resources_to_change(admin: Client) -> None:
    number = await killed(admin)
    answer = await admin("PATCH", f"{PATH}/{number}", {"resources": {"priority": 7}})
    assert (answer.status, answer.json()["error"]["code"]) == (400, 9)


async def test_labels_are_put_and_deleted_one_by_one(admin: Client) -> None:
    number = await created(admin)
    for label in ("x", "y z", "x", "team/a"):
        put = await admin("PUT", f"{PATH}/{number}/labels/{quote(label, safe='')}")
    assert sorted(put.json()["labels"]) == ["team/a", "x", "y z"]
    for label in ("x", "team%2Fa"):
        left = await admin("DELETE", f"{PATH}/{number}/labels/{label}")
    assert left.json() == {"labels": ["y z"]}
    assert (await config_of(admin, number))["labels"] == ["y z"]


@covers("experiment-config 16.log_retention_days")
async def test_log_retention_is_kept_in_the_configuration(admin: Client) -> None:
    number = await created(admin)
    assert (await admin("PUT", f"{PATH}/{number}/retain_logs", {"numDays": 9})).status == 200
    assert (await config_of(admin, number))["retention_policy"] == {"log_retention_days": 9}
    refused = await admin("PUT", f"{PATH}/{number}/retain_logs", {"numDays": -2})
    assert refused.status == 400


async def test_many_are_acted_on_each_by_itself(admin: Client) -> None:
    live, ended = await created(admin), await killed(admin)
    body = {"experimentIds": [live, 99999, ended]}
    answer = await admin("POST", f"{BULK}/activate", body)
    missing, first, second = answer.json()["results"]
    assert missing == {"error": "experiment '99999' not found", "id": 99999}
    assert first == {"error": "", "id": live}
    assert (second["id"], "terminal state" in second["error"]) == (ended, True)
    archived = (await admin("POST", f"{BULK}/archive", body)).json()["results"]
    assert [r["error"] == "" for r in archived] == [False, False, True]
    unarchived = (await admin("POST", f"{BULK}/unarchive", {"experimentIds": [ended]})).json()
    assert unarchived["results"] == [{"error": "", "id": ended}]


async def test_many_are_chosen_by_a_filter(admin: Client) -> None:
    wanted, other = await created(admin, "wanted"), await created(admin, "other")
    body = {"filters": {"name": "wanted"}}
    answer = await admin("POST", f"{BULK}/kill", body)
    assert answer.json()["results"] == [{"error": "", "id": wanted}]
    path = f"{PATH}/{other}"
    assert (await admin("GET", path)).json()["experiment"]["state"] == "STATE_PAUSED"
    retained = await admin("PUT", f"{BULK}/retain_logs", {"numDays": 1, **body})
    assert retained.json()["results"] == [{"error": "", "id": wanted}]


async def test_a_blank_label_is_refused(admin: Client) -> None:
    number = await created(admin)
    answer = await admin("PATCH", f"{PATH}/{number}", {"labels": ["a", " "]})
    assert answer.status == 400
    assert "must not be blank" in answer.json()["error"]["error"]
