"""What tasks serve, reached through the master: HTTP, WebSockets, and TCP in a WebSocket.

Each request goes to one registered service; the path is passed on as it came.
"""

from __future__ import annotations

from functools import partial

from determined_master.api.http.access import IN_SERVICE
from determined_master.api.http.exchange import Http, Receive, Send
from determined_master.api.http.middleware import Entry
from determined_master.api.http.reauthorization import NO_RECHECK
from determined_master.api.http.routes import Call, service_route
from determined_master.api.http.task_use import REACHES
from determined_master.api.proxy import heads
from determined_master.api.proxy.forwarding import Errand, forward
from determined_master.api.proxy.tunnel import carry_tcp, refuse_plain
from determined_master.api.proxy.upgrade import carry_upgrade
from determined_master.domain.errors import PermissionDenied
from determined_master.services.tasks.proxies import Proxies, ServiceTarget, unknown
from determined_master.services.tasks.service import Tasks
from determined_master.services.tasks.service_access import ServiceAccess

OWN_TOKEN = b"token "


def find_service(
    http: Http, proxies: Proxies, service_id: str
) -> tuple[ServiceTarget | None, str]:
    """The requested service, and the service's own token in the request.

    Raises:
        InvalidArgument: two servers could read the request in two ways; it is not looked at.
    """
    heads.check_framing(http.headers)
    target = proxies.find(service_id)
    if target is None:
        return None, ""
    sent = http.authorization
    shown = [sent[len(OWN_TOKEN) :].decode("latin-1")] if sent.startswith(OWN_TOKEN) else []
    shown.append(heads.query_token(http.raw_query))
    return target, next((token for token in shown if proxies.is_own_token(target, token)), "")


@service_route("/proxy/{service}/{path*}", access=IN_SERVICE, in_task=REACHES)
async def proxy(
    call: Call,
    entry: Entry,
    receive: Receive,
    send: Send,
    proxies: Proxies,
    services: ServiceAccess,
    tasks: Tasks,
) -> None:
    """Forward a request to a task's service."""
    service_id = call.parameters["service"]
    target = proxies.find(service_id)
    if target is None:
        raise unknown(service_id)
    may = partial(services.check, target)
    if entry.caller is not None:
        await may(entry.caller)
    _check_worker(call.http, entry)
    proxies.note_request(target)
    takeover = call.http.takeover
    assert call.idle is not None
    errand = Errand(
        call.http,
        target,
        proxies.trust_of(target),
        proxies.forward,
        proxies.ending_of(target),
        NO_RECHECK if entry.recheck is None else entry.recheck.reauthorization(may),
        call.idle,
        entry.spent,
        proxies.key_of(target),
        framed_by=entry.framed_by,
        is_sandboxed=await _is_sandboxed(entry, target, tasks),
    )
    if target.port.is_tcp and takeover is None:
        await refuse_plain(send)
    elif target.port.is_tcp and takeover is not None:
        await carry_tcp(errand, takeover, receive, send)
    elif takeover is not None:
        await carry_upgrade(errand, takeover, receive, send)
    else:
        await forward(errand, receive, send)


async def _is_sandboxed(entry: Entry, target: ServiceTarget, tasks: Tasks) -> bool:
    """Whether a page of the service could act as somebody else at the origin where it is opened.

    Every page is sandboxed, unless its origin has nothing else, or a cookie alone shows that its
    viewer is the task's owner. A page can bring about any other credential: with a link that
    holds a password, or at a port that is open to everybody.
    """
    if entry.is_alone:
        return False
    if target.port.is_unauthenticated or not entry.viewer_id:
        return True
    return not await tasks.is_owner(entry.viewer_id, target.task_id)


def _check_worker(http: Http, entry: Entry) -> None:
    """Refuse the script of a service worker where it would stay for the next visitor.

    Raises:
        PermissionDenied: the request asks for one.
    """
    is_worker = http.header("service-worker") or http.header("sec-fetch-dest") == "serviceworker"
    if is_worker and not entry.is_alone:
        raise PermissionDenied(
            "a service of a task can have a service worker only at an origin of its own: an admin "
            "sets proxy.address with {service} in its host"
        )
