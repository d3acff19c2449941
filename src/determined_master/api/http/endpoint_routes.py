"""Routes of the public API that its table of endpoints declares: path, name and messages.

For routes that differ in names only. Others spell out a function (`routes.py`).
"""

from __future__ import annotations

import re
from collections.abc import Awaitable, Callable, Mapping
from importlib import import_module
from typing import Any

import msgspec

from determined_master.api.http.access import Need, Rule, rule_of
from determined_master.api.http.routes import Call, Route
from determined_wire.proto import Message
from determined_wire.rest.endpoints import ENDPOINTS

Act = Callable[..., Awaitable[Mapping[str, Any]]]
"""Takes the call, the request and the services; returns the fields of the answer."""
_ENDPOINTS = {(endpoint.method, endpoint.path): endpoint for endpoint in ENDPOINTS}


def endpoint_route(
    target: tuple[str, str],
    about: str,
    act: Act,
    services: tuple[type[Any], ...],
    *,
    access: Rule | Need,
    **more: Any,
) -> Route:
    """One unary route.

    Args:
        target: method and path.
        about: its summary.
        act: does it.
        services: types of the services that `act` takes.
        access: as in `routes.py`.
        more: other fields of the route.
    """
    endpoint = _ENDPOINTS[target]
    request_type, response_type = _message(endpoint.request), _message(endpoint.response)

    async def handler(call: Call, request: Any, *services: Any) -> Message:
        return response_type(**await act(call, request, *services))

    name = re.sub(r"(?<!^)(?=[A-Z])", "_", endpoint.rpc).lower()
    handler.__name__ = handler.__qualname__ = name
    handler.__doc__ = about
    route = Route(
        kind="unary",
        method=endpoint.method,
        path=endpoint.path,
        handler=handler,
        access=rule_of(access),
        request=request_type,
        response=response_type,
        services=services,
    )
    return msgspec.structs.replace(route, **more)


def _message(name: str) -> type[Message]:
    module, _, message = name.rpartition(".")
    message_type: type[Message] = getattr(import_module(f"determined_wire.rest.{module}"), message)
    return message_type
