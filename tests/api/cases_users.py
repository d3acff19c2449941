"""Cases of users, logins and what every route shares."""

from __future__ import annotations

from tests.api.client import Client
from tests.api.master import PASSWORD
from tests.api.samples import Case, World

from determined_master.services.access.auth import Auth
from determined_master.services.access.identities import Identities
from determined_master.services.access.users import UserChange, Users

DEFECT_39 = "an unknown route is a 404 and a wrong method a 405 (wire.md 13, defect 39)"
AUG = {"agent_uid": 1000, "agent_gid": 1001, "agent_user": "wu", "agent_group": "wg"}


async def user_id(world: World, name: str) -> int:
    """Id of a user, made with that name when there is none."""
    admin = world.clients["admin"]
    answer = await admin("GET", f"/api/v1/users/{name}/by-username")
    if answer.status == 404:
        body = {"user": {"username": name, "active": True}, "password": PASSWORD}
        answer = await admin("POST", "/api/v1/users", body)
    return int(answer.json()["user"]["id"])


async def two_users(world: World) -> None:
    """wire1, who is the sample's non-admin, and wire2."""
    await wire1(world)
    await user_id(world, "wire2")


async def newcomers(world: World) -> None:
    """wire1 and wire2, who have never logged in."""
    for name in ("wire1", "wire2"):
        await user_id(world, name)


async def wire1(world: World) -> None:
    """The non-admin of samples; `<user_id>` is theirs."""
    world.names["user_id"] = world.names["int"] = str(await user_id(world, "wire1"))
    opened = await world.services[Auth].login("wire1", PASSWORD, is_hashed=False)
    world.clients["user"] = Client(world.clients["admin"].app, opened.token)
    world.names["token"] = world.clients["admin"].token


async def the_admin(world: World) -> None:
    """`<user_id>` is the admin's."""
    await wire1(world)
    world.names["user_id"] = str(await user_id(world, "admin"))


async def with_agent_group(world: World) -> None:
    """The newest user has an agent group and has never logged in."""
    world.names["user_id"] = str(await user_id(world, "wire2"))
    me = await world.services[Identities].authenticate(world.clients["admin"].token)
    assert me is not None
    change = UserChange(agent=AUG, display_name="Wire Two")
    await world.services[Users].patch(me, int(world.names["user_id"]), change)


async def inactive(world: World) -> None:
    """A token of a user who is deactivated afterwards."""
    wirein = await user_id(world, "wirein")
    opened = await world.services[Auth].login("wirein", PASSWORD, is_hashed=False)
    app = world.clients["admin"].app
    await world.clients["admin"]("PATCH", f"/api/v1/users/{wirein}", {"active": False})
    world.clients["inactive"] = Client(app, opened.token)


CASES = {
    "gw.wrong_method": Case(status=405, free=frozenset("*"), why=DEFECT_39),
    "gw.head": Case(status=405, free=frozenset("*"), why=DEFECT_39),
    "gw.options": Case(status=405, free=frozenset("*"), why=DEFECT_39),
    "path.encoded_slash": Case(status=404, free=frozenset("*"), why=DEFECT_39),
    "path.percent": Case(newcomers),
    "auth.cookie": Case(wire1),
    "auth.scheme_lowercase": Case(wire1),
    "auth.inactive_token": Case(inactive),
    "plain.login": Case(wire1),
    "plain.login.cookie": Case(wire1),
    "plain.login.wrong": Case(wire1),
    "plain.login.inactive": Case(inactive),
    "plain.users": Case(free=frozenset({"[].last_auth_at"})),
    "users.create.duplicate": Case(two_users, phrase="choose another name"),
    "users.get": Case(the_admin),
    "users.patch": Case(wire1),
    "users.patch.forbidden": Case(the_admin),
    "users.patch.admin_forbidden": Case(wire1),
    "users.patch.display_taken": Case(the_admin),
    "users.patch.aug": Case(with_agent_group),
    "users.bulk": Case(wire1),
    "users.bulk.forbidden": Case(wire1),
    "users.password": Case(wire1),
    "users.password.other": Case(the_admin),
    "users.offset_negative": Case(newcomers),
    "health.noauth": Case(
        status=200, free=frozenset("*"), why="/health is open, without details, for load balancers"
    ),
    "health": Case(
        free=frozenset({"effects", "storage"}),
        why="fields of ours: the age of the oldest waiting effect, and large users",
    ),
    "master.config": Case(
        free=frozenset({"config"}), why="our settings have other names; see docs/settings.md"
    ),
    "cors.get": Case(free=frozenset("*"), why="the body is that of the sample `me`"),
}
