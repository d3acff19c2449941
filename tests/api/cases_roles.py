"""Cases of user groups, roles and permissions."""

from __future__ import annotations

from tests.api.samples import Case, World

from determined_master.services.access.users import Users


async def nobody(world: World) -> None:
    """No group, and nobody has a role."""
    async with world.services[Users]._db.acquire() as conn:
        await conn.execute("DELETE FROM role_assignments")
        await conn.execute("DELETE FROM user_groups")


async def group(world: World) -> None:
    """The group of the samples, with one user."""
    await nobody(world)
    admin = world.clients["admin"]
    made = await admin("POST", "/api/v1/groups", {"name": "g1", "addUsers": [2]})
    world.names["group_id"] = str(made.json()["group"]["groupId"])


CASES: dict[str, Case] = {
    "groups.duplicate": Case(group),
    "groups.search": Case(group),
    "groups.get": Case(group),
    "groups.404": Case(nobody),
    "groups.delete": Case(group),
    "roles.workspace": Case(nobody),
}
