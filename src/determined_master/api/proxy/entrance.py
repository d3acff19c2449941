"""Admission of a request to a task's service, or the address where a browser must open it."""

from __future__ import annotations

from typing import NamedTuple

from msgspec.structs import replace

from determined_master.api.http.exchange import Http
from determined_master.api.http.middleware import Entry, SignIn, admit_to_service, check_origin
from determined_master.api.proxy.heads import query_token
from determined_master.api.proxy.own_origin import ServiceOrigin
from determined_master.api.proxy.routes import find_service
from determined_master.domain.errors import Unauthenticated
from determined_master.ports.authentication import Authenticator
from determined_master.services.tasks.proxies import Proxies


class Moved(NamedTuple):
    """The page has another address."""

    location: str
    cookie: bytes | None = None


async def enter(
    http: Http,
    service_id: str,
    proxies: Proxies,
    authenticator: Authenticator,
    origin: ServiceOrigin | None,
) -> Entry | Moved:
    """Find out who sends a request to a service.

    Args:
        http: the request.
        service_id: the service's name; it need not exist.
        proxies: all services.
        authenticator: knows the tokens of users.
        origin: where browsers open services; None for the master's own origin.

    Raises:
        DetError: as `admit_to_service`, `find_service` and `ServiceOrigin.check`.
    """
    target, own_token = find_service(http, proxies, service_id)
    is_at_own = origin is not None and origin.is_of(http, service_id)
    remembered = "" if target is None else proxies.reader_token(target, http.client)
    if origin is not None and is_at_own:
        moved = origin.exchange(http, service_id)
        if moved is not None:
            return Moved(*moved)
        remembered = origin.token_of(http, service_id)
        if remembered:
            check_origin(http)
    try:
        entry = await admit_to_service(
            http,
            authenticator,
            is_open=target is not None and target.port.is_unauthenticated,
            own_token=own_token,
            in_query=query_token(http.raw_query),
            remembered=remembered,
            takes_cookie=not is_at_own,
        )
    except SignIn as error:
        if is_at_own:  # its login page is at the master's address
            raise Unauthenticated("open the page again at the master's own address") from error
        raise
    if origin is not None and is_at_own:
        return replace(entry, is_alone=not origin.is_shared)
    if origin is None or target is None:
        return entry
    if origin.is_navigation(http):
        token = http.token if entry.caller is not None else ""
        return Moved(origin.redirect(http, service_id, token))
    origin.check(http, service_id)
    return entry
