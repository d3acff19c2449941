"""The events of the cluster in one list."""

from __future__ import annotations

from collections.abc import AsyncIterator
from datetime import timedelta
from typing import Any

import pytest
from tests.api import cases_experiments as scene
from tests.api.client import Client
from tests.api.hidden import VIEWER, give, hidden_world, ok
from tests.api.master import PASSWORD, running_services
from tests.api.samples import World
from tests.api.tasks.test_generic_tasks import create, done

from determined_master import clock
from determined_master.api.app import Api
from determined_master.api.table import all_routes
from determined_master.services.access.auth import Auth
from determined_master.services.access.identities import Identities
from determined_master.services.access.passwords import Passwords
from determined_master.store.db import Address, Database
from determined_master.store.updates import events as rows

pytestmark = pytest.mark.slow


@pytest.fixture
async def world(database: Address, pool: Database, passwords: Passwords) -> AsyncIterator[World]:
    async with running_services(database, pool, passwords) as (services, engine):
        api = Api(all_routes(), services, services[Identities])
        clients = {}
        for name, username in (("admin", "admin"), ("user", "determined")):
            opened = await services[Auth].login(username, PASSWORD, is_hashed=False)
            clients[name] = Client(api, opened.token)
        yield World(services, engine, {}, clients)
        api.close()


async def read(client: Client, query: str = "") -> dict[str, Any]:
    found: dict[str, Any] = await ok(client, "GET", f"/api/ui/v1/events?{query}")
    return found


async def every(client: Client, query: str = "", limit: int = 1000) -> list[dict[str, Any]]:
    """All events that match, read in pages of so many."""
    found: list[dict[str, Any]] = []
    before = ""
    while True:
        page = await read(client, f"{query}&limit={limit}&before={before}")
        found += page["events"]
        assert len(page["events"]) <= limit
        if not page["hasMore"]:
            assert page["next"] == ""
            return found
        before = page["next"]


async def test_acts_of_users_say_who_did_what_to_which_thing(world: World) -> None:
    names = await scene.submitted(world)
    experiment, admin = names["experiment_id"], world.clients["admin"]
    await ok(admin, "POST", f"/api/v1/experiments/{experiment}/pause", {})
    found = await every(admin, "actsOnly=true")
    shown = [(one["username"], one["text"], one["thing"]["id"]) for one in found]
    assert shown[0] == ("admin", f"experiment {experiment} was paused", experiment)
    assert ("admin", f"experiment {experiment} was created", experiment) in shown
    assert all(one["userId"] == 1 for one in found)
    thing = found[0]["thing"]
    assert (thing["kind"], thing["workspaceId"]) == ("experiment", 1)
    assert thing["name"] != ""


async def test_all_events_have_those_of_the_master_and_runs_name_their_trial(world: World) -> None:
    await scene.finished(world)
    trial = world.names["trial_id"]
    found = await every(world.clients["admin"])
    assert [one["at"] for one in found] == sorted((one["at"] for one in found), reverse=True)
    (assigned,) = [one for one in found if one["kind"] == "assigned"]
    assert (assigned["userId"], assigned["thing"]["kind"], assigned["thing"]["id"]) == (
        0,
        "trial",
        trial,
    )
    assert assigned["thing"]["trialId"] == int(trial)
    only = await every(world.clients["admin"], "kinds=allocation")
    assert only == [one for one in found if one["text"].startswith("attempt ")]


async def test_pages_of_any_size_have_the_same_events(world: World) -> None:
    await scene.finished(world)
    admin = world.clients["admin"]
    assert await every(admin, limit=3) == await every(admin)


async def test_events_of_long_ago_are_found(world: World, pool: Database) -> None:
    names = await scene.submitted(world)
    await pool.execute("UPDATE journal SET at = at - interval '20 days'")
    await pool.execute("UPDATE journal SET at = born WHERE at < born")
    found = await every(world.clients["admin"], "actsOnly=true")
    assert [one["thing"]["id"] for one in found] == [names["experiment_id"]]
    since = (clock.now() - timedelta(hours=1)).isoformat().replace("+00:00", "Z")
    page = await read(world.clients["admin"], f"actsOnly=true&since={since}")
    assert (page["events"], page["hasMore"]) == ([], False)


async def test_events_are_narrowed_to_a_user(world: World) -> None:
    admin, user = world.clients["admin"], world.clients["user"]
    own, other = await create(user), await create(admin)
    await done(admin, own, "kill")
    of_user = await every(admin, "userId=2")
    assert {one["thing"]["id"] for one in of_user} == {own}
    assert {one["username"] for one in of_user} == {"determined"}
    of_admin = {(one["kind"], one["thing"]["id"]) for one in await every(admin, "userId=1")}
    assert {("task_created", other), ("task_killed", own)} <= of_admin


async def test_things_that_are_deleted_keep_their_events(world: World, pool: Database) -> None:
    names = await scene.submitted(world)
    await pool.execute("UPDATE journal SET id = '777' WHERE kind = 'experiment'")
    (one,) = await every(world.clients["admin"], "kinds=experiment&actsOnly=true")
    assert (one["thing"]["kind"], one["thing"]["id"], one["thing"]["name"]) == (
        "experiment",
        "777",
        "",
    )
    assert names["experiment_id"] != "777"


@pytest.mark.parametrize(
    ("query", "text"),
    [
        ("limit=1001", "limit is 1001"),
        ("limit=-1", "limit is -1"),
        ("kinds=agent", "kinds has 'agent': it must be one of experiment, trial"),
        ("before=nonsense", "before is 'nonsense': it must be the cursor of an item"),
    ],
)
async def test_invalid_values_are_refused(world: World, query: str, text: str) -> None:
    answer = await world.clients["admin"]("GET", f"/api/ui/v1/events?{query}")
    assert (answer.status, text in answer.text) == (400, True), answer.text


async def test_with_roles_events_of_hidden_workspaces_are_left_out(
    postgres: Address, passwords: Passwords
) -> None:
    async with hidden_world(postgres, passwords) as world:
        admin, user = world.clients["admin"], world.clients["user"]
        assert await every(user) == []
        assert await every(admin) != []
        workspace = int(world.names["workspace"])
        await give(world, VIEWER, workspace)
        found = await every(user)
        assert {one["thing"]["workspaceId"] for one in found} == {workspace}
        kinds = {one["thing"]["kind"] for one in found}
        assert {"experiment", "generic"} <= kinds


async def test_a_time_that_takes_too_long_is_searched_in_parts(
    world: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    await scene.submitted(world)
    await scene.until(  # the last event of a submission follows its answer
        world.clients["admin"],
        "/api/ui/v1/events",
        lambda got: any(one["kind"] == "allocation_requested" for one in got["events"]),
    )
    wanted = await every(world.clients["admin"])
    most, list_events = timedelta(minutes=20), rows.list_events
    cancelled = 0

    async def busy(conn: Any, query: Any) -> Any:
        nonlocal cancelled
        if query.before - query.after > most:
            cancelled += 1
            await conn.execute("SET LOCAL statement_timeout = 1; SELECT pg_sleep(1)")
        return await list_events(conn, query)

    monkeypatch.setattr(rows, "list_events", busy)
    since = (clock.now() - timedelta(days=2)).strftime("%Y-%m-%dT%H:%M:%SZ")
    assert wanted
    assert await every(world.clients["admin"], f"since={since}") == wanted
    assert cancelled
    most = timedelta(0)
    answer = await world.clients["admin"]("GET", "/api/ui/v1/events")
    assert answer.status == 429
    assert b"take too long: give since, kinds or a user" in answer.body
