"""Cases of access tokens."""

from __future__ import annotations

from tests.api.client import Client
from tests.api.samples import Case, World

from determined_master.services.access.users import Users


async def someone(world: World) -> None:
    """`<int>` is a user's id."""
    world.names["int"] = "2"


async def one(world: World) -> None:
    """The one access token of the samples."""
    async with world.services[Users]._db.acquire() as conn:
        await conn.execute("DELETE FROM user_sessions WHERE kind = 'access'")
    body = {"userId": 2, "lifespan": "24h", "description": "wire tok"}
    made = await world.clients["admin"]("POST", "/api/v1/tokens", body)
    assert made.status == 200, made.body
    world.shared["token"] = made.json()


async def revoked(world: World) -> None:
    """A client whose access token was revoked after it was used."""
    await one(world)
    admin, token = world.clients["admin"], world.shared["token"]
    client = Client(admin.app, token["token"])
    assert (await client("GET", "/api/v1/me")).status == 200
    path = f"/api/v1/tokens/{token['tokenId']}"
    assert (await admin("PATCH", path, {"setRevoked": True})).status == 200
    world.clients["revoked"] = client


CASES: dict[str, Case] = {
    "auth.revoked_token": Case(revoked),
    "tokens.create": Case(someone),
    "tokens.create.forbidden": Case(someone),
    "tokens.create.bad": Case(someone, phrase="failed to parse lifespan xyz"),
    "tokens.list": Case(one),
    "tokens.404": Case(),
}
