"""The model registry over the API: names, versions, and what it keeps."""

from __future__ import annotations

from typing import Any

import pytest
from tests.api import cases_experiments as scene
from tests.api import cases_models
from tests.api.checkpoints.test_gc import KEEP_NONE, collections_of
from tests.api.client import Answer, Client
from tests.api.samples import World
from tests.api.scenes import reaches, run_to_end
from tests.covers import covers

from determined_master.services.access.auth import Auth
from determined_master.services.access.users import Users

pytestmark = pytest.mark.slow


async def attempt(world: World, method: str, path: str, body: Any = None) -> Answer:
    return await world.clients["admin"](method, f"/api/v1{path}", body)


async def send(world: World, method: str, path: str, body: Any = None) -> Any:
    answer = await attempt(world, method, path, body)
    assert answer.status == 200, answer.body
    return answer.json()


async def create(world: World, name: str, **fields: Any) -> dict[str, Any]:
    made: dict[str, Any] = await send(world, "POST", "/models", {"name": name, **fields})
    return made["model"]


async def names(world: World, query: str) -> list[str]:
    return [m["name"] for m in (await send(world, "GET", f"/models?{query}"))["models"]]


async def test_a_model_is_found_by_its_name_and_by_its_id(world: World) -> None:
    made = await create(world, "a b", labels=["x", "x", "y"], metadata={"k": [1]})
    assert made["labels"] == ["x", "y"]
    assert made["username"] == "admin"
    for key in ("a%20b", made["id"]):
        assert (await send(world, "GET", f"/models/{key}"))["model"] == made


PATHS = ("/m", "m/", "m//n", "m/../n", "m/.", "m/versions", "m/versions/1", "m/archive", "move/m")
"""Names that lead elsewhere in a path whose slashes are not encoded."""


@pytest.mark.parametrize("name", ["", "  ", "12", " 7 ", "a\\b", "x" * 501, *PATHS])
async def test_a_name_that_leads_nowhere_is_refused(world: World, name: str) -> None:
    answer = await attempt(world, "POST", "/models", {"name": name})
    assert answer.status == 400
    assert "model names" in answer.text


@pytest.mark.parametrize("path", ["/models/team/m%201", "/models/team%2Fm%201"])
async def test_a_name_with_slashes_is_reached_with_encoded_and_plain_slashes(
    world: World, path: str
) -> None:
    await scene.ended(world)
    made = await create(world, "team/m 1")
    await create(world, "team")
    assert (await send(world, "GET", path))["model"] == made
    version = {"checkpointUuid": world.names["uuid"]}
    await send(world, "POST", f"{path}/versions", version)
    await send(world, "PATCH", f"{path}/versions/1", {"notes": "n"})
    [listed] = (await send(world, "GET", f"{path}/versions"))["modelVersions"]
    assert (listed["notes"], listed["model"]["name"]) == ("n", "team/m 1")
    await send(world, "DELETE", f"{path}/versions/1")
    await send(world, "POST", f"{path}/archive")
    await send(world, "POST", f"{path}/unarchive")
    await send(world, "DELETE", path)
    assert await names(world, "") == ["team"]


async def test_lists_are_filtered_sorted_and_cut(world: World) -> None:
    await create(world, "one", description="First", labels=["a", "b"])
    await create(world, "two", description="second", labels=["a"])
    await create(world, "Three", description="first too")
    await send(world, "POST", "/models/two/archive")
    assert await names(world, "") == ["one", "two", "Three"]
    assert await names(world, "orderBy=ORDER_BY_DESC&limit=2") == ["Three", "two"]
    assert await names(world, "sortBy=SORT_BY_NAME") == ["Three", "one", "two"]
    assert await names(world, "name=TW") == ["two"]
    assert await names(world, "description=first") == ["one", "Three"]
    assert await names(world, "labels=a&labels=b") == ["one"]
    assert await names(world, "archived=true") == ["two"]
    assert await names(world, "archived=false") == ["one", "Three"]
    assert await names(world, "users=nobody") == []
    assert await names(world, "users=admin&workspaceNames=Uncategorized&name=one") == ["one"]
    assert await names(world, "workspaceIds=2") == []
    assert (await send(world, "GET", "/model/labels"))["labels"] == ["a", "b"]


async def test_a_model_is_changed_by_what_is_sent(world: World) -> None:
    made = await create(world, "m", description="d", labels=["l"], metadata={"a": 1})
    path = f"/models/{made['id']}"
    changed = await send(world, "PATCH", path, {"name": "n", "labels": [], "metadata": {"b": 2}})
    assert (changed["model"]["name"], changed["model"]["description"]) == ("n", "d")
    assert (changed["model"]["labels"], changed["model"]["metadata"]) == ([], {"b": 2})
    assert changed["model"]["lastUpdatedTime"] > made["lastUpdatedTime"]
    await create(world, "other")
    assert (await attempt(world, "PATCH", path, {"name": "other"})).status == 409
    assert (await attempt(world, "PATCH", path, {"name": "1"})).status == 400
    assert (await attempt(world, "PATCH", path, {"workspaceName": "nowhere"})).status == 404
    move = {"destinationWorkspaceId": 99}
    assert (await attempt(world, "POST", f"{path}/move", move)).status == 404
    await send(world, "POST", f"{path}/move", {"destinationWorkspaceId": 1})


async def test_an_archived_model_is_not_changed(world: World) -> None:
    await scene.ended(world)
    await create(world, "m")
    for _ in range(2):
        await send(world, "POST", "/models/m/archive")
    version = {"checkpointUuid": world.names["uuid"]}
    for method, path, body in (
        ("PATCH", "/models/m", {"notes": "x"}),
        ("POST", "/models/m/versions", version),
    ):
        answer = await attempt(world, method, path, body)
        assert answer.status == 400
        assert "unarchive it first" in answer.text
    await send(world, "POST", "/models/m/unarchive")
    await send(world, "POST", "/models/m/versions", version)


async def test_only_its_owner_or_an_admin_deletes_a_model(world: World) -> None:
    await create(world, "m")
    opened = await world.services[Auth].login("determined", "Secret-1234", is_hashed=False)
    user = Client(world.clients["admin"].app, opened.token)
    assert (await user("DELETE", "/api/v1/models/m")).status == 403
    made = await user("POST", "/api/v1/models", {"name": "mine"})
    assert made.json()["model"]["username"] == "determined"
    assert (await user("DELETE", "/api/v1/models/mine")).status == 200
    await send(world, "DELETE", "/models/m")
    assert (await attempt(world, "GET", "/models/m")).status == 404


async def test_versions_count_from_one_and_a_deleted_newest_number_is_given_again(
    world: World,
) -> None:
    await cases_models.registered(world)
    path = "/models/clim/versions"
    body = {"checkpointUuid": world.names["uuid"], "name": "v", "labels": ["a"], "comment": "c"}
    second = (await send(world, "POST", path, body))["modelVersion"]
    assert (second["version"], second["model"]["numVersions"]) == (2, 2)
    changed = await send(world, "PATCH", f"{path}/2", {"notes": "n", "labels": ["b"]})
    assert changed["modelVersion"]["name"] == "v"
    assert (changed["modelVersion"]["notes"], changed["modelVersion"]["labels"]) == ("n", ["b"])
    found = await send(world, "GET", f"{path}?orderBy=ORDER_BY_DESC&limit=1")
    assert [v["version"] for v in found["modelVersions"]] == [2]
    assert (found["model"]["name"], found["pagination"]["total"]) == ("clim", 2)
    await send(world, "DELETE", f"{path}/2")
    assert (await send(world, "POST", path, body))["modelVersion"]["version"] == 2
    answer = await attempt(world, "GET", f"{path}/9")
    assert answer.status == 404
    assert answer.text == 'version 9 for model "clim" not found'


@pytest.mark.parametrize(
    ("uuid", "status"), [("nonsense", 400), ("00000000-0000-4000-8000-000000000000", 404)]
)
async def test_only_a_checkpoint_can_be_registered(world: World, uuid: str, status: int) -> None:
    await create(world, "m")
    answer = await attempt(world, "POST", "/models/m/versions", {"checkpointUuid": uuid})
    assert answer.status == status


async def test_a_checkpoint_that_is_gone_or_going_cannot_be_registered(world: World) -> None:
    await scene.ended(world)
    await create(world, "m")
    uuid = world.names["uuid"]
    await send(world, "DELETE", "/checkpoints", {"checkpointUuids": [uuid]})
    body = {"checkpointUuid": uuid}
    answer = await attempt(world, "POST", "/models/m/versions", body)
    assert answer.status == 400
    assert "is being deleted" in answer.text
    [allocation] = await collections_of(world)
    await send(world, "PATCH", "/checkpoints", {"checkpoints": [{"uuid": uuid, "resources": {}}]})
    await run_to_end(world, allocation, 0)
    answer = await attempt(world, "POST", "/models/m/versions", body)
    assert answer.status == 400
    assert "in state DELETED" in answer.text


@covers("experiment-config 14.gc_never_registered")
async def test_a_registered_checkpoint_is_never_deleted(world: World) -> None:
    await scene.ended(world)
    await create(world, "m")
    uuid, number = world.names["uuid"], world.names["experiment_id"]
    await send(world, "POST", "/models/m/versions", {"checkpointUuid": uuid})
    rm = {"checkpointUuids": [uuid], "checkpointGlobs": ["*"]}
    left = {"checkpoints": [{"uuid": uuid, "resources": {"resources": {"a.txt": "1"}}}]}
    for method, path, body in (
        ("DELETE", "/checkpoints", {"checkpointUuids": [uuid]}),
        ("POST", "/checkpoints/rm", rm),
        ("PATCH", "/checkpoints", left),
    ):
        answer = await attempt(world, method, path, body)
        assert answer.status == 400, path
        assert f'{uuid} is version 1 of model "m"' in answer.text
    await send(world, "PATCH", f"/experiments/{number}", {"checkpointStorage": KEEP_NONE})
    preview = await world.clients["admin"](
        "GET",
        f"/experiments/{number}/preview_gc?save_experiment_best=0&save_trial_best=0"
        "&save_trial_latest=0",
    )
    assert preview.json()["checkpoints"] == []
    await send(world, "DELETE", f"/experiments/{number}")
    [allocation] = await collections_of(world)  # its TensorBoard files
    await run_to_end(world, allocation, 0)
    kept: list[Any] = []

    async def look() -> Any:
        return (await attempt(world, "GET", f"/experiments/{number}")).status

    await scene.until_true(look, lambda status: status == 404, kept)
    version = (await send(world, "GET", "/models/m/versions/1"))["modelVersion"]
    assert version["checkpoint"]["uuid"] == uuid
    assert version["checkpoint"]["state"] == "STATE_COMPLETED"


async def test_a_checkpoint_names_the_versions_that_it_is(world: World) -> None:
    await scene.ended(world)
    uuid = world.names["uuid"]
    path = f"/api/ui/v1/checkpoints/{uuid}/registrations"
    admin = world.clients["admin"]
    assert (await admin("GET", path)).json() == {"registrations": []}
    for name in ("first", "second"):
        await create(world, name)
        body = {"checkpointUuid": uuid, "name": f"alias of {name}"}
        await send(world, "POST", f"/models/{name}/versions", body)
    found = (await admin("GET", path)).json()["registrations"]
    shown = [(each["modelName"], each["version"], each["name"]) for each in found]
    assert shown == [("first", 1, "alias of first"), ("second", 1, "alias of second")]
    nowhere = path.replace(uuid, "00000000-0000-0000-0000-000000000000")
    answer = await admin("GET", nowhere)
    assert (answer.status, "not found" in answer.text) == (404, True)


async def test_trials_that_use_a_version_are_found_by_it(world: World) -> None:
    await cases_models.registered(world)
    uuid, trial_id = world.names["uuid"], int(world.names["trial_id"])
    model = (await send(world, "GET", "/models/clim"))["model"]
    info = {
        "trialId": trial_id,
        "checkpointUuid": uuid,
        "modelId": model["id"],
        "modelVersion": 1,
        "trialSourceInfoType": "TRIAL_SOURCE_INFO_TYPE_INFERENCE",
    }
    for _ in range(2):
        answer = await send(world, "POST", "/trial-source-info", {"trialSourceInfo": info})
        assert answer == {"trialId": trial_id, "checkpointUuid": uuid}
    for path in ("/models/clim/versions/1/metrics", f"/checkpoints/{uuid}/metrics"):
        found = (await send(world, "GET", f"{path}?metricGroup=validation"))["metrics"]
        assert [(m["trialId"], m["group"]) for m in found] == [(trial_id, "validation")]
        everything = (await send(world, "GET", path))["metrics"]
        assert {m["group"] for m in everything} == {"training", "validation", "custom/grp"}
        other = "trialSourceInfoType=TRIAL_SOURCE_INFO_TYPE_FINE_TUNING"
        assert (await send(world, "GET", f"{path}?{other}"))["metrics"] == []
    half = {**info, "modelVersion": None}
    answer = await attempt(world, "POST", "/trial-source-info", {"trialSourceInfo": half})
    assert answer.status == 400
    wrong = {**info, "modelVersion": 7}
    answer = await attempt(world, "POST", "/trial-source-info", {"trialSourceInfo": wrong})
    assert answer.status == 404


@covers("experiment-config 14.gc_never_registered")
async def test_a_registered_checkpoint_outlives_its_experiments_end(world: World) -> None:
    """The policy at an end keeps none of it, but the registry does."""
    await scene.running(world)
    await scene.report(world)
    await create(world, "m")
    body = {"checkpointUuid": world.names["uuid"]}
    await send(world, "POST", "/models/m/versions", body)
    number = world.names["experiment_id"]
    await send(world, "PATCH", f"/experiments/{number}", {"checkpointStorage": KEEP_NONE})
    await scene.container(world, world.names, "TERMINATED", exit_code=0)
    await reaches(world, number, "STATE_COMPLETED")
    async with world.services[Users]._db.acquire() as conn:
        assert await conn.fetchval("SELECT count(*) FROM collections") == 0
