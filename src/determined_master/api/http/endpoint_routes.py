"""Routes of the public API that its table of endpoints declares: path, name and messages.

For routes that differ in names only. Others spell out a function (`routes.py`).
"""

from __future__ import annotations

import re
from collections.abc import Awaitable, Callable, Mapping
from importlib import import_module
from types import MappingProxyType
from typing import Any

import msgspec

from determined_master.api.http.access import Need, Rule, rule_of
from determined_master.api.http.routes import Call, Route
from determined_wire.proto import Message
from determined_wire.rest.endpoints import ENDPOINTS

Act = Callable[..., Awaitable[Mapping[str, Any]]]
"""Takes the call, the request and the services; returns the fields of the answer."""
_IN_PATH = re.compile(r"{(\w+)}")
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


def pass_through(
    endpoint: str,
    about: str,
    act: Callable[..., Awaitable[Any]],
    *,
    takes: tuple[str, ...] = (),
    fixed: Mapping[str, Any] = MappingProxyType({}),
    answer: str = "",
    access: Rule | Need,
    **more: Any,
) -> Route:
    """A route that calls one function of a service with the caller and fields of the request.

    Args:
        endpoint: method and path.
        about: its summary.
        act: a method of the service.
        takes: fields of the request that the method takes after those of the path.
        fixed: what it always takes, by name.
        answer: the field of the answer that it returns; empty for an answer without fields.
        access: as in `routes.py`.
        more: other fields of the route.
    """
    method, path = endpoint.split()
    fields = (*_IN_PATH.findall(path), *takes)
    service_type: type[Any] = getattr(
        import_module(act.__module__), act.__qualname__.split(".")[0]
    )

    async def call_service(call: Call, request: Any, service: Any) -> dict[str, Any]:
        values = [getattr(request, field) for field in fields]
        result = await act(service, call.caller, *values, **fixed)
        return {answer: result} if answer else {}

    return endpoint_route(
        (method, path), about, call_service, (service_type,), access=access, **more
    )


def _message(name: str) -> type[Message]:
    module, _, message = name.rpartition(".")
    message_type: type[Message] = getattr(import_module(f"determined_wire.rest.{module}"), message)
    return message_type
