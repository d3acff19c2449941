"""The table of paths: served routes, and known endpoints of the public API that are not served."""

from __future__ import annotations

from collections.abc import Iterable

from determined_master.api.http.gateway import GatewayRoute
from determined_master.api.http.matching import PathTable
from determined_master.api.http.routes import Route
from determined_wire.proto import Endpoint
from determined_wire.rest.endpoints import ENDPOINTS

Target = GatewayRoute | Route | Endpoint
"""A served route of `/api/v1`, any other served route, a known one that is not served."""


def build_table(routes: Iterable[Route]) -> PathTable[Target]:
    """Every served route, and every other route of the public API as not served.

    Raises:
        ValueError: two routes share method and path.
    """
    table: PathTable[Target] = PathTable()
    known = {(e.method, e.path): e for e in ENDPOINTS}
    for route in routes:
        endpoint = known.pop((route.method, route.path), None)
        is_message = route.kind in ("unary", "stream")
        table.add(route.method, route.path, GatewayRoute(route, endpoint) if is_message else route)
    for endpoint in known.values():
        table.add(endpoint.method, endpoint.path, endpoint)
    return table
