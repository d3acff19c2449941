"""How a route is declared: its declaration says everything about it.

    @route(
        "POST",
        "/api/v1/experiments/{id}/pause",
        access=on("experiment", "id", "control", "experiment"),
    )
    async def pause_experiment(
        call: Call, request: PauseExperimentRequest, experiments: Experiments
    ) -> PauseExperimentResponse:

A function names the services that it needs by the types of its further parameters; they are
found once, when the application is built.

Path, query and body are merged into the request's message before the function is called. The
message that it returns is the body of the response. Errors are raised as `DetError`. The path is
spelled as in the public API, so that the table can be checked against it. `access.py` explains
`access`, `public`, `task` and `in_task`.
"""

from __future__ import annotations

import inspect
from collections.abc import AsyncGenerator, AsyncIterator, Awaitable, Callable, Mapping
from types import ModuleType
from typing import Any, Concatenate, Literal, Required, TypedDict, TypeVar, Unpack, get_type_hints

import msgspec

from determined_master.api.http.access import Need, Rule, TaskRule, rule_of
from determined_master.api.http.exchange import Http
from determined_master.api.http.middleware import Entry
from determined_master.api.upstream.idle_connections import IdleConnections
from determined_master.domain.access.rules import Caller
from determined_master.records.audit import ChangedUsers
from determined_master.services.catalog import Services
from determined_wire.proto import Message

RouteKind = Literal["unary", "stream", "plain", "socket", "service"]
ANONYMOUS = Caller(user_id=0, username="")
"""The caller of a public route when no token was sent."""

_ARGUMENTS: Mapping[RouteKind, int] = {
    "unary": 2,
    "stream": 2,
    "plain": 1,
    "socket": 2,
    "service": 4,
}
"""Parameters of a function before its services."""
PLAIN_JSON = "application/json; charset=UTF-8"

Request = TypeVar("Request", bound=Message)
Answer = TypeVar("Answer", bound=Message)


class Call(msgspec.Struct, frozen=True):
    """One request: its caller and its parts."""

    caller: Caller
    http: Http
    parameters: Mapping[str, str] = {}
    """Values of the path, decoded; for plain routes and sockets, others have a message."""
    body: bytes = b""
    """The body of a plain route; others have a message."""
    idle: IdleConnections | None = None
    """Connections that wait, for the route that leads to services."""


class Reply(msgspec.Struct, frozen=True):
    """An answer of a plain route that is not just JSON with status 200.

    `body` may be a generator of pieces, which is sent as it comes and closed in any case.
    """

    body: bytes | AsyncGenerator[bytes] = b""
    status: int = 200
    content_type: str = PLAIN_JSON
    headers: tuple[tuple[str, str], ...] = ()

    @classmethod
    def of_json(cls, value: Any, *, status: int = 200) -> Reply:
        """JSON with a status of its own."""
        return cls(msgspec.json.encode(value) + b"\n", status)


class Route(msgspec.Struct, frozen=True, kw_only=True):
    """One entry of the table: everything about a route; `handler` is the declared function."""

    kind: RouteKind
    method: str
    path: str
    handler: Callable[..., Any]
    access: Rule
    """The permissions that a caller needs with roles."""
    name: str = ""
    """Of its function or variable; the operation's name in the OpenAPI document."""
    is_public: bool = False
    """Whether it needs no token."""
    public_reason: str = ""
    """The reason why it needs none."""
    in_task: str = ""
    """Why code in a task may call it with its user's token; empty when it may not."""
    knows_session: bool = False
    """Whether a public route gets the caller of a valid session instead of `ANONYMOUS`."""
    checks_token: bool = False
    """Whether a public route gets the caller of a token, and refuses an invalid one."""
    authenticates: bool = False
    """Whether the function itself authenticates its caller, and not by a user's token."""
    has_large_body: bool = False
    """Whether it takes model directories or batches."""
    is_submission: bool = False
    """Whether it takes configurations or files, which cost far more than to read the body."""
    starts_work: bool = False
    """Whether it starts work of its user, whose logs and results are stored."""
    task: TaskRule | None = None
    """Fields of a request that must name a task's own things; None refuses the tokens of tasks."""
    request: type[Message] | None = None
    response: type[Message] | None = None
    services: tuple[type[Any], ...] = ()
    """Types of the services that the function takes as its last parameters."""
    given: tuple[Any, ...] = ()
    """These services; set by `bind`."""
    query: tuple[str, ...] = ()
    """Names of a plain route's parameters in the query, each a text; for its documentation."""
    produces: str = ""
    """The content type of a plain route's answer, if it is not JSON."""
    body: str = ""
    """Our own routes only: `*` when the body is read. Others go by the public API's list."""
    is_audited: bool = False
    """Whether each successful call is stored as an act of its caller."""
    changed_users: Callable[[Any, Any], ChangedUsers] | None = None
    """Of a request and its answer the users that it changed, where the path names none."""

    def bind(self, services: Services) -> Route:
        """The same route with its services.

        Raises:
            LookupError: one of them is missing.
        """
        return msgspec.structs.replace(self, given=tuple(services[t] for t in self.services))


class Declared(TypedDict, total=False):
    """Options of every declaration."""

    access: Required[Rule | Need]
    public: str
    """The reason why no token is needed."""
    in_task: str
    knows_session: bool
    checks_token: bool
    authenticates: bool
    large_body: bool
    submission: bool
    starts_work: bool
    changed_users: Callable[[Any, Any], ChangedUsers]
    task: TaskRule


def route(
    method: str, path: str, *, body: str = "", **options: Unpack[Declared]
) -> Callable[[Callable[Concatenate[Call, Request, ...], Awaitable[Answer]]], Route]:
    """Declare a route of `/api/v1` that answers with one message."""

    def declare(handler: Callable[Concatenate[Call, Request, ...], Awaitable[Answer]]) -> Route:
        request, response = _hints(handler)
        route = _declared("unary", method, path, handler, options)
        return msgspec.structs.replace(route, request=request, response=response, body=body)

    return declare


def stream_route(
    method: str,
    path: str,
    response: type[Message],
    *,
    body: str = "",
    **options: Unpack[Declared],
) -> Callable[[Callable[Concatenate[Call, Request, ...], AsyncIterator[Any]]], Route]:
    """Declare a route of `/api/v1` whose function is an async generator.

    It yields messages, or lists of messages where several are at hand: those are sent together.
    """

    def declare(handler: Callable[Concatenate[Call, Request, ...], AsyncIterator[Any]]) -> Route:
        request = _hints(handler)[0]
        route = _declared("stream", method, path, handler, options)
        return msgspec.structs.replace(route, request=request, response=response, body=body)

    return declare


def plain_route(
    method: str,
    path: str,
    *,
    query: tuple[str, ...] = (),
    produces: str = "",
    **options: Unpack[Declared],
) -> Callable[[Callable[Concatenate[Call, ...], Awaitable[Any]]], Route]:
    """Declare any other route: it returns what msgspec writes as JSON, or a `Reply`."""

    def declare(handler: Callable[Concatenate[Call, ...], Awaitable[Any]]) -> Route:
        route = _declared("plain", method, path, handler, options)
        return msgspec.structs.replace(route, query=query, produces=produces)

    return declare


def socket_route(
    path: str, **options: Unpack[Declared]
) -> Callable[[Callable[Concatenate[Call, Any, ...], Awaitable[None]]], Route]:
    """Declare a WebSocket; the function is given a `ports.WebSocket`."""

    def declare(handler: Callable[Concatenate[Call, Any, ...], Awaitable[None]]) -> Route:
        return _declared("socket", "WS", path, handler, options)

    return declare


def service_route(
    path: str, **options: Unpack[Declared]
) -> Callable[[Callable[Concatenate[Call, Entry, Any, Any, ...], Awaitable[None]]], Route]:
    """Declare what passes requests of any method on to a task's service.

    The path names `{service}`; the function is given ASGI's `receive` and `send`, too.
    """

    def declare(
        handler: Callable[Concatenate[Call, Entry, Any, Any, ...], Awaitable[None]],
    ) -> Route:
        return _declared("service", "*", path, handler, options)

    return declare


def routes_of(*modules: ModuleType) -> list[Route]:
    """The routes that modules declare, in the order of their lines."""
    return [
        msgspec.structs.replace(value, name=name)
        for module in modules
        for name, value in vars(module).items()
        if isinstance(value, Route)
    ]


def services_of(handler: Callable[..., Any], *, after: int) -> tuple[type[Any], ...]:
    """Types of the parameters that follow the first ones."""
    hints = get_type_hints(handler)
    return tuple(hints[name] for name in list(inspect.signature(handler).parameters)[after:])


def _hints(handler: Callable[..., Any]) -> tuple[Any, Any]:
    """Types of the second parameter and of the return value."""
    hints = get_type_hints(handler)
    return hints[list(inspect.signature(handler).parameters)[1]], hints["return"]


def _declared(
    kind: RouteKind, method: str, path: str, handler: Callable[..., Any], options: Declared
) -> Route:
    return Route(
        kind=kind,
        method=method,
        path=path,
        handler=handler,
        access=rule_of(options["access"]),
        name=handler.__name__,
        is_public=bool(options.get("public")),
        public_reason=options.get("public", ""),
        in_task=options.get("in_task", ""),
        knows_session=options.get("knows_session", False),
        checks_token=options.get("checks_token", False),
        authenticates=options.get("authenticates", False),
        has_large_body=options.get("large_body", False),
        is_submission=options.get("submission", False),
        starts_work=options.get("starts_work", False),
        changed_users=options.get("changed_users"),
        task=options.get("task"),
        services=services_of(handler, after=_ARGUMENTS[kind]),
    )
