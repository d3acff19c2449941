"""What tools/generate_docs.py writes is committed as it writes it."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import msgspec
from tools.generate_docs import access_of, stale

from determined_master.api.http.access import SIGNED_IN
from determined_master.api.http.routes import Route
from determined_master.api.table import all_routes


def test_the_committed_reference_pages_are_what_the_generator_writes() -> None:
    assert stale() == []


def weaker(route: Route) -> Iterator[Route]:
    """The route with another declaration of its access, one change at a time."""

    def changed(one: Any, /, **fields: Any) -> Any:
        return msgspec.structs.replace(one, **fields)

    if not route.is_public:
        yield changed(route, is_public=True, public_reason="a test")
    if not route.is_public and not route.authenticates:
        if route.access != SIGNED_IN:
            yield changed(route, access=SIGNED_IN)
        if isinstance(route.access, tuple):
            for n, need in enumerate(route.access):
                rest = (*route.access[:n], *route.access[n + 1 :])
                yield changed(route, access=rest)
                for fields in (
                    {"field": "another"},
                    {"thing": "another"},
                    {"is_optional": not need.is_optional},
                    {"may_be_missing": not need.may_be_missing},
                    {"stands_for_all": 5},
                    *([{"action": "another"}, {"kind": None}] if need.kind else []),
                ):
                    yield changed(
                        route,
                        access=(
                            *route.access[:n],
                            changed(need, **fields),
                            *route.access[n + 1 :],
                        ),
                    )
        yield changed(route, task=() if route.task is None else None)
        for pair in route.task or ():
            yield changed(route, task=tuple(p for p in route.task or () if p != pair))


def test_every_change_of_a_routes_access_changes_the_committed_page() -> None:
    """So nobody opens a route without a line of the change that says so."""
    alike = [
        f"{route.method} {route.path}"
        for route in all_routes()
        for other in weaker(route)
        if access_of(other) == access_of(route)
    ]
    assert alike == []
    assert sum(len(list(weaker(route))) for route in all_routes()) > 1000
