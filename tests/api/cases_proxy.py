"""Cases of services of tasks; the rest of them is tested over sockets, in `proxy/`."""

from __future__ import annotations

from tests.api.proxy.proxied import run_task
from tests.api.samples import Case, World


async def tunnel(world: World) -> None:
    """A task that serves TCP; nothing is sent to it."""
    world.names["uuid"] = run_task(world.services, 1, 8090, is_tcp=True).id


async def nobody(world: World) -> None:
    """A task that is nowhere."""
    world.names["uuid"] = "a7d3c2f4-5e1b-4c8d-9f60-123456789abc"


CASES = {
    "proxy.noauth": Case(nobody),
    "proxy.badtoken": Case(nobody),
    "proxy.tcp_plain_get": Case(tunnel),
}
