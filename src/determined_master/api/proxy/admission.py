"""Admission of a request to a task's service, or the address where a browser must open it."""

from __future__ import annotations

from msgspec.structs import replace

from determined_master.api.http.exchange import Http
from determined_master.api.http.middleware import Entry, SignIn, admit_to_service
from determined_master.api.proxy.heads import query_token
from determined_master.api.proxy.own_origin import Move, ServiceOrigin
from determined_master.api.proxy.routes import find_service
from determined_master.domain.errors import Unauthenticated
from determined_master.ports.authentication import Authenticator
from determined_master.services.tasks.proxies import Proxies, ServiceTarget
from determined_master.services.tasks.shares import TaskShares


async def authenticate(
    http: Http,
    service_id: str,
    proxies: Proxies,
    authenticator: Authenticator,
    origin: ServiceOrigin | None,
    shares: TaskShares,
) -> Entry | Move:
    """Find out who sends a request to a service.

    The own token of a notebook that was never shared admits by itself; that of others does not.

    Args:
        http: the request.
        service_id: the service's name; it need not exist.
        proxies: all services.
        authenticator: knows the tokens of users.
        origin: where browsers open services; None for the master's own origin.
        shares: of all tasks.

    Raises:
        DetError: as `admit_to_service`, `find_service` and `ServiceOrigin.check`.
    """
    target, own_token = find_service(http, proxies, service_id)
    if target is not None and own_token and await shares.was_shared(target.task_id):
        own_token = ""
    if origin is not None and origin.is_at(http):
        return await _authenticate_apart(
            http, service_id, target, own_token, authenticator, origin
        )
    entry = await admit_to_service(
        http,
        authenticator,
        is_open=target is not None and target.port.is_unauthenticated,
        own_token=own_token,
        in_query=query_token(http.raw_query),
        remembered="" if target is None else proxies.reader_token(target, http.client),
    )
    if origin is None or target is None or not origin.reaches(http):
        return entry
    if origin.is_navigation(http):
        token = entry.viewer_token or ("" if entry.caller is None else http.token)
        return origin.redirect(http, service_id, token)
    origin.check(http, service_id)
    return entry


async def _authenticate_apart(
    http: Http,
    service_id: str,
    target: ServiceTarget | None,
    own_token: str,
    authenticator: Authenticator,
    origin: ServiceOrigin,
) -> Entry | Move:
    """Admit a request that was sent to the origin of services. The login cookie is not read."""
    is_of_service = origin.is_of(http, service_id)
    moved = origin.exchange(http, service_id) if is_of_service else None
    if moved is not None:
        return moved
    shown = origin.pass_of(http, service_id) if is_of_service else None
    try:
        entry = await admit_to_service(
            http,
            authenticator,
            is_open=target is not None and target.port.is_unauthenticated,
            own_token=own_token,
            in_query=query_token(http.raw_query),
            remembered=shown.token if shown is not None else "",
            takes_cookie=False,
        )
    except SignIn as error:
        location = origin.at_master(http)
        if location and origin.is_navigation(http) and not http.authorization:
            return Move(location)
        # Its login page is at the master's address.
        raise Unauthenticated("open the page again at the master's own address") from error
    return replace(
        entry,
        is_alone=is_of_service and not origin.is_shared,
        framed_by=shown.master if shown is not None else "",
    )
