"""The ASGI application: finds the route, authenticates the caller, runs it, reports errors."""

from __future__ import annotations

import logging
from collections.abc import Coroutine, Iterable, Mapping
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from typing import Any

import msgspec

from determined_master.api.error_answers import (
    plain_status,
    redirect,
    refuse_gateway,
    refuse_socket,
    send_plain,
    unexpected,
)
from determined_master.api.http import gateway, plain
from determined_master.api.http.access import claims_of
from determined_master.api.http.bodies import Bodies
from determined_master.api.http.exchange import (
    Http,
    Receive,
    Scope,
    Send,
)
from determined_master.api.http.gateway import GatewayRoute
from determined_master.api.http.middleware import (
    SignIn,
    admit,
    caller_of,
    has_token,
)
from determined_master.api.http.reauthorization import (
    NO_RECHECK,
    RECHECK_S,
    CallerRecheck,
    Reauthorization,
)
from determined_master.api.http.routes import ANONYMOUS, Call, Route
from determined_master.api.http.task_use import check_task_use, is_closed
from determined_master.api.http.turns import RequestTurns
from determined_master.api.proxy.admission import authenticate
from determined_master.api.proxy.own_origin import SERVICES, Move, ServiceOrigin
from determined_master.api.targets import build_table
from determined_master.api.upstream.idle_connections import IdleConnections
from determined_master.domain.access.rules import Caller
from determined_master.domain.errors import (
    DetError,
    PermissionDenied,
    RoleMissing,
    Unimplemented,
)
from determined_master.ports.agents import WebSocket
from determined_master.ports.answer_memory import AnswerMemory
from determined_master.ports.authentication import Authenticator
from determined_master.server.loop_shares import LoopShares
from determined_master.server.proxied_http import ClientGone
from determined_master.services.access.guard import Guard
from determined_master.services.catalog import Services
from determined_master.services.cluster.user_storage import UserStorage
from determined_master.services.history.audit import AuditLog
from determined_master.services.tasks.proxies import Proxies
from determined_master.services.tasks.shares import TaskShares
from determined_wire.proto import Endpoint, Message

log = logging.getLogger(__name__)


PAID_EDITION = (b"/scim/v2/", b"/oauth2/", b"/saml/", b"/oidc/")
"""Never served; their 404 is given without a token, as their clients expect."""
PREFIXES = (b"/api/v1/", b"/api/ui/v1/")
"""Of the routes that take and answer messages."""


class Api:
    """The master's HTTP side. Call `close` when the server has stopped."""

    def __init__(
        self,
        routes: Iterable[Route],
        services: Services,
        authenticator: Authenticator,
        *,
        recheck_s: float = RECHECK_S,
        origin: ServiceOrigin | None = None,
        bodies: Bodies | None = None,
    ) -> None:
        """
        Args:
            routes: the table.
            services: given to the routes that name them.
            authenticator: knows the tokens of users and tasks.
            recheck_s: how often callers that keep a connection open are authorized again.
            origin: where browsers open services of tasks; None for the master's own origin.
            bodies: the incomplete ones; None for temporary files.

        Raises:
            LookupError: a route takes a service that is not among `services`.
        """
        self._guard, self._proxies = services[Guard], services[Proxies]
        self._audit_log, self._task_shares = services[AuditLog], services[TaskShares]
        self._user_storage = services[UserStorage]
        self._authenticator = authenticator
        self._recheck_s = recheck_s
        self._bodies = bodies or Bodies()
        self._origin = origin
        self._idle = IdleConnections()
        self._threads = ThreadPoolExecutor(2, thread_name_prefix="api")
        self._turns = RequestTurns()
        self._shares = LoopShares()
        self._memory = AnswerMemory()
        self._table = build_table(route.bind(services) for route in routes)

    def close(self) -> None:
        """Wait for the threads that read and compress large bodies; close idle connections."""
        self._idle.close()
        self._threads.shutdown()

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Serve one connection, as ASGI 3 has it."""
        kind = scope["type"]
        if kind == "http":
            http = Http(scope)
            if self._is_misplaced(http):
                text = f"only services of tasks are served at this address: {http.path} is not one"
                await plain.send_text_error(send, 404, text)
            elif scope["raw_path"].startswith(PREFIXES):
                await self._serve_gateway(http, receive, send)
            else:
                await self._serve_plain(http, receive, send)
        elif kind == "websocket":
            await self._serve_socket(scope, receive, send)

    async def _serve_gateway(self, http: Http, receive: Receive, send: Send) -> None:
        caller = ANONYMOUS
        try:
            raw_path = http.raw_path
            if raw_path.endswith(b"/"):
                raw_path = raw_path[:-1]
            match = self._table.find(raw_path)
            target = None if match is None else match.targets.get(http.method)
            if match is None or target is None:
                await refuse_gateway(send, http, match)
                return
            if isinstance(target, Route):
                await self._run_plain(target, http, match.values, receive, send)
                return
            is_public = isinstance(target, GatewayRoute) and target.is_open
            caller = ANONYMOUS if is_public else await admit(http, self._authenticator)
            if isinstance(target, Endpoint):
                raise Unimplemented("Not Implemented")
            self._check_use(target.route, caller, http)
            answer = self._answer(target, caller, http, match.values, receive, send)
            await self._do(caller, answer, is_costly=target.is_costly(http))
        except DetError as error:
            if isinstance(error, RoleMissing):
                error = await self._guard.with_name(caller, error)
            await gateway.send_error(send, error, http.set_headers)
        except ClientGone:
            return
        except Exception as error:
            await gateway.send_error(send, unexpected(http, error))

    async def _do(
        self, caller: Caller, answer: Coroutine[Any, Any, None], *, is_costly: bool
    ) -> None:
        """Answer an admitted request within the shares that its user has of loop and database."""
        if not caller.user_id:
            await answer
            return
        if not is_costly:
            await self._shares.run(caller.user_id, answer)
            return
        try:
            async with self._turns.take(caller.user_id):
                await self._shares.run(caller.user_id, answer)
        finally:
            answer.close()  # if it had no turn

    async def _answer(
        self,
        target: GatewayRoute,
        caller: Caller,
        http: Http,
        values: tuple[str, ...],
        receive: Receive,
        send: Send,
    ) -> None:
        """Read an admitted request, and answer it."""
        if target.route.starts_work:
            await self._user_storage.check(caller)
        request = await target.read(http, values, receive, self._bodies, self._threads)
        target.check_scope(caller, request)
        await self._check_roles(caller, target.route, request, {})
        call = Call(caller, http)
        route = target.route
        if route.kind == "stream":
            await gateway.stream_messages(
                send,
                receive,
                route.handler(call, request, *route.given),
                NO_RECHECK if target.is_open else self._reauthorization(http, target, request),
                unexpected=partial(unexpected, http),
                is_pretty=http.wants_pretty,
            )
        else:
            with self._memory.of(caller.user_id):
                answer = await route.handler(call, request, *route.given)
                if route.is_audited:
                    user = (caller.user_id, caller.username)
                    changed = route.changed_users and route.changed_users(request, answer)
                    await self._audit_log.record(
                        user, route.name, http.method, http.raw_path, changed
                    )
                await gateway.send_message(send, http, answer, self._threads)

    def _reauthorization(
        self, http: Http, target: GatewayRoute, request: Message
    ) -> Reauthorization:
        """The caller may stay as long as a new request of theirs would be admitted."""

        async def may(caller: Caller) -> None:
            target.check_scope(caller, request)
            await self._check_roles(caller, target.route, request, {})

        return self._recheck(http).reauthorization(may)

    def _recheck(self, http: Http) -> CallerRecheck:
        return CallerRecheck(partial(caller_of, http.token, self._authenticator), self._recheck_s)

    async def _serve_plain(self, http: Http, receive: Receive, send: Send) -> None:
        try:
            match = self._table.find(http.raw_path)
            target = None
            if match is not None:
                target = match.targets.get(http.method) or match.targets.get("*")
            if match is None or not isinstance(target, Route):
                if not http.raw_path.startswith(PAID_EDITION):
                    await self._authenticate(http)
                text = f"api not found: {http.method} {http.path}"
                await plain.send_text_error(send, 404, text)
                return
            if target.kind == "service":
                await self._run_service(target, http, match.values, receive, send)
                return
            await self._run_plain(target, http, match.values, receive, send)
        except SignIn as error:
            await redirect(send, error.location)
        except DetError as error:
            await send_plain(send, error, http.set_headers)
        except ClientGone:
            return
        except Exception as error:
            await plain.send_error(send, unexpected(http, error))

    async def _run_service(
        self, route: Route, http: Http, values: tuple[str, ...], receive: Receive, send: Send
    ) -> None:
        parameters = _parameters(route, values)
        entry = await authenticate(
            http,
            parameters["service"],
            self._proxies,
            self._authenticator,
            self._origin,
            self._task_shares,
        )
        if isinstance(entry, Move):
            await redirect(send, entry.location, entry.cookie)
            return
        who = entry.caller or ANONYMOUS
        self._check_use(route, who, http)
        call = Call(who, http, parameters, idle=self._idle)
        if entry.caller is not None:
            entry = msgspec.structs.replace(entry, recheck=self._recheck(http))
        await route.handler(call, entry, receive, send, *route.given)

    def _is_misplaced(self, http: Http) -> bool:
        """Whether a page of a task could read this answer, as it is of the same origin."""
        if self._origin is None or http.raw_path.startswith(SERVICES):
            return False
        return self._origin.is_at(http)

    async def _run_plain(
        self, route: Route, http: Http, values: tuple[str, ...], receive: Receive, send: Send
    ) -> None:
        caller = await self._plain_caller(route, http)
        answer = self._answer_plain(route, caller, http, values, receive, send)
        await self._do(caller, answer, is_costly=route.has_large_body and bool(http.user_id))

    async def _answer_plain(
        self,
        route: Route,
        caller: Caller,
        http: Http,
        values: tuple[str, ...],
        receive: Receive,
        send: Send,
    ) -> None:
        """Read an admitted request, and answer it."""
        body = b""
        if http.method not in ("GET", "HEAD"):
            body = await self._bodies.read(receive, http, is_large=route.has_large_body)
        parameters = _parameters(route, values)
        await self._check_roles(caller, route, None, parameters)
        call = Call(caller, http, parameters, body)
        try:
            answer = await route.handler(call, *route.given)
        except RoleMissing as refusal:
            raise await self._guard.with_name(caller, refusal) from None
        await plain.send_answer(send, receive, http, answer)

    async def _plain_caller(self, route: Route, http: Http) -> Caller:
        if not route.is_public and not route.authenticates:
            caller = await self._authenticate(http, is_for_tasks=route.task is not None)
            self._check_use(route, caller, http)
            return caller
        if route.checks_token and has_token(http):
            return _unless_in_task(route, await self._authenticate(http))
        if route.knows_session and has_token(http):
            return await self._recognize(route, http)
        return ANONYMOUS

    async def _recognize(self, route: Route, http: Http) -> Caller:
        """The caller of a valid session; a page is also shown where there is none."""
        try:
            return _unless_in_task(route, await self._authenticate(http))
        except DetError:
            return ANONYMOUS
        except Exception as error:  # the database is away: the page shows that itself
            unexpected(http, error)
            return ANONYMOUS

    async def _authenticate(self, http: Http, *, is_for_tasks: bool = False) -> Caller:
        """As `admit`; outside `/api/v1` few routes accept the token of a task."""
        caller = await admit(http, self._authenticator)
        if caller.scope is not None and not is_for_tasks:
            raise PermissionDenied("the token of a task is good for its own task's routes only")
        return caller

    @staticmethod
    def _check_use(route: Route, caller: Caller, http: Http) -> None:
        """Code in a task calls only routes that are declared for it."""
        check_task_use(route.in_task, caller, http.method, route.path)

    async def _check_roles(
        self, caller: Caller, route: Route, request: Any, parameters: Mapping[str, str]
    ) -> None:
        """With roles: return if the caller sees the things in the request, and may do this.

        Raises:
            NotFound, PermissionDenied: as `Guard.check`.
        """
        if caller.rights is None or caller.is_admin:
            return
        if not isinstance(route.access, str):
            claims = claims_of(route.access, request, parameters)
            await self._guard.check(caller, claims)

    async def _serve_socket(self, scope: Scope, receive: Receive, send: Send) -> None:
        http = Http(scope)
        if self._is_misplaced(http):
            await refuse_socket(scope, send, 404, f"{http.path} is not served at this address")
            return
        socket = WebSocket(scope, receive, send)
        match = self._table.find(http.raw_path)
        target = None if match is None else match.targets.get("WS")
        try:
            if match is None or not isinstance(target, Route):
                await refuse_socket(scope, send, 404, f"api not found: WS {http.path}")
                return
            caller = await self._plain_caller(target, http)
            call = Call(caller, http, _parameters(target, match.values))
            await self._check_roles(caller, target, None, call.parameters)
            await target.handler(call, socket, *target.given)
        except DetError as error:
            await refuse_socket(scope, send, *plain_status(error))


def _unless_in_task(route: Route, caller: Caller) -> Caller:
    """The caller of a public route, which shows code in a task what it shows to everybody."""
    return ANONYMOUS if is_closed(route.in_task, caller) else caller


def _parameters(route: Route, values: tuple[str, ...]) -> dict[str, str]:
    names = [part.strip("{}*") for part in route.path.split("/") if part.startswith("{")]
    return dict(zip(names, values, strict=True))
