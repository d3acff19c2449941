"""An origin of their own for pages of tasks: there they cannot call the master as their viewer.

By default it is a second port of the master's host; setting `proxy.address` names another address.
The master redirects browsers from `/proxy/SERVICE/` there, with a ticket. There the ticket is
exchanged for a cookie that opens this one service, and nothing else is served. Cookies know no
ports: the login cookie comes along, and is neither read nor passed on.
"""

from __future__ import annotations

import re
from collections import OrderedDict
from typing import NamedTuple
from urllib.parse import urlsplit

from determined_master import clock, entropy
from determined_master.api.http import cookies
from determined_master.api.http.exchange import Http
from determined_master.api.proxy.heads import PASS_COOKIE, TICKET_COOKIE
from determined_master.domain.errors import PermissionDenied

TICKET = b"det_ticket"
TICKET_S = 60.0
"""Time in which a browser must follow the redirect."""
MAX_KEPT = 10_000
"""Tickets and passes that are kept; the oldest are forgotten."""
SERVICES = b"/proxy/"
_SERVICE, _HOST = "{service}", "{host}"
_FORWARDED = ("forwarded", "via", "x-forwarded-for", "x-forwarded-host", "x-forwarded-proto")
"""Added by proxies, which may replace the header `Host` by the master's own address."""
_NAME = re.compile(r"[\w.-]+|\[[0-9a-fA-F:.]+\]", re.ASCII)


class Move(NamedTuple):
    """Where a browser is sent."""

    location: str
    cookie: bytes | None = None


class Pass(NamedTuple):
    """The right of one browser to one service."""

    token: str
    """The user's token behind it: the pass ends with it."""
    service_id: str
    master: str
    """The origin of the master that issued it, as the browser knows it."""


class _Ticket(NamedTuple):
    admits: Pass
    expires_at: float
    proof: str
    """The browser must show it besides the ticket: nobody can hand their ticket to another."""


class ServiceOrigin:
    """The address at which browsers open services of tasks.

    Tickets and passes are in memory: after a restart of the master users open the page again.
    """

    def __init__(self, address: str, *, port: int = 0, master_port: int = 0) -> None:
        """
        Args:
            address: `http(s)://HOST[:PORT]`. `{service}` in the host stands for the service, which
                then shares its origin with nothing; `{host}` stands for the master's host.
            port: on which the master listens for it; 0 if a reverse proxy forwards to the
                master's own.
            master_port: only browsers that reach the master at this port are sent to the address;
                0 for all.
        """
        self._address = address.rstrip("/")
        parts = urlsplit(self._address)
        self._before, _, self._after = parts.netloc.lower().partition(_SERVICE)
        self._is_secure = parts.scheme == "https"
        self._port, self._master_port = port, master_port
        self.is_shared = _SERVICE not in self._address
        """Whether all services have this origin."""
        self._is_of_host = _HOST in self._address
        self._tickets: OrderedDict[str, _Ticket] = OrderedDict()
        self._passes: OrderedDict[str, Pass] = OrderedDict()

    def is_at(self, http: Http) -> bool:
        """Whether a request was sent to this address, and not to the master's."""
        if self._port and http.server_port == self._port:
            return True
        host = http.header("host").lower()
        if self._is_of_host:
            return False
        if self.is_shared:
            return host == self._before
        return host.startswith(self._before) and host.endswith(self._after)

    def is_of(self, http: Http, service_id: str) -> bool:
        """Whether a request was sent to the address of this service."""
        if self._is_of_host:
            return self.is_at(http)
        return http.header("host").lower() == urlsplit(self.of(http, service_id)).netloc.lower()

    def reaches(self, http: Http) -> bool:
        """Whether a browser that sends this request to the master can be sent to the address."""
        name, port = _host_of(http)
        if self._is_of_host and not _NAME.fullmatch(name):
            return False
        if not self._master_port:
            return True
        is_forwarded = any(http.header(each) for each in _FORWARDED)
        return port == self._master_port and not is_forwarded

    def check(self, http: Http, service_id: str) -> None:
        """Return if a service may answer a request that was sent to the master's own address.

        Raises:
            PermissionDenied: a page sent it, so that the answer would be of the master's origin.
        """
        if http.header("sec-fetch-mode") or (http.cookie and not http.authorization):
            raise PermissionDenied(
                f"pages of tasks are served at {self.of(http, service_id)}/proxy/{service_id}/ "
                "only: open them there, or send the token as 'Authorization: Bearer TOKEN'"
            )

    def is_navigation(self, http: Http) -> bool:
        """Whether a browser opens a page with this request."""
        if http.method not in ("GET", "HEAD") or http.takeover is not None:
            return False
        mode = http.header("sec-fetch-mode")
        return mode == "navigate" if mode else "text/html" in http.header("accept")

    def redirect(self, http: Http, service_id: str, token: str) -> Move:
        """To a page at its own origin; with a ticket if there is a token."""
        query = [part for part in http.raw_query.split(b"&") if part]
        cookie = None
        if token:
            ticket, proof = entropy.token(), http.client
            if self._is_of_host:
                proof = entropy.token()
                cookie = self._cookie(TICKET_COOKIE + ticket[:8], proof, service_id, TICKET_S)
            admits = Pass(token, service_id, _origin_of(http))
            expires_at = clock.monotonic_s() + TICKET_S
            self._tickets[ticket] = _Ticket(admits, expires_at, proof)
            if len(self._tickets) > MAX_KEPT:
                self._tickets.popitem(last=False)
            query.append(TICKET + b"=" + ticket.encode())
        return Move(self._location(self.of(http, service_id), http, query), cookie)

    def exchange(self, http: Http, service_id: str) -> Move | None:
        """Exchange the ticket in a request; None if there is none.

        Returns:
            To the page without the ticket, with the cookie of the pass if the ticket is valid.
        """
        query = [part for part in http.raw_query.split(b"&") if part]
        tickets = [part.partition(b"=")[2] for part in query if part.startswith(TICKET + b"=")]
        if not tickets:
            return None
        rest = [part for part in query if not part.startswith(TICKET + b"=")]
        location = self._location(self.of(http, service_id), http, rest)
        ticket = self._tickets.pop(tickets[0].decode("latin-1"), None)
        if ticket is None or not self._is_valid(ticket, tickets[0], http, service_id):
            return Move(location)
        value = entropy.token()
        self._passes[value] = ticket.admits
        if len(self._passes) > MAX_KEPT:
            self._passes.popitem(last=False)
        return Move(location, self._cookie(PASS_COOKIE, value, service_id))

    def pass_of(self, http: Http, service_id: str) -> Pass | None:
        """The pass in a request; None without one for this service, or with those of two users."""
        shown = [self._passes.get(value) for value in cookies.values(http.cookie, PASS_COOKIE)]
        passes = [each for each in shown if each is not None and each.service_id == service_id]
        return passes[-1] if len({each.token for each in passes}) == 1 else None

    def at_master(self, http: Http) -> str:
        """The same page at the master's own address, which issues tickets; empty if not known."""
        if not self._master_port:
            return ""
        name, _ = _host_of(http)
        query = [part for part in http.raw_query.split(b"&") if part]
        return self._location(_with_port(http, name, self._master_port), http, query)

    def of(self, http: Http, service_id: str) -> str:
        """The origin of a service."""
        address = self._address.replace(_SERVICE, service_id.replace(":", "-"))
        return address.replace(_HOST, _host_of(http)[0])

    def _is_valid(self, ticket: _Ticket, name: bytes, http: Http, service_id: str) -> bool:
        if ticket.admits.service_id != service_id or clock.monotonic_s() > ticket.expires_at:
            return False
        if not self._is_of_host:  # cookies do not reach from the master's host to this one
            return not self.is_shared or ticket.proof == http.client
        cookie = TICKET_COOKIE + name[:8].decode("latin-1")
        return ticket.proof in cookies.values(http.cookie, cookie)

    def _cookie(self, name: str, value: str, service_id: str, life_s: float = 0) -> bytes:
        life = f"; Max-Age={life_s:.0f}" if life_s else ""
        secure = "; Secure" if self._is_secure else ""
        text = f"{name}={value}; Path=/proxy/{service_id}/; HttpOnly; SameSite=Lax{secure}{life}"
        return text.encode()

    @staticmethod
    def _location(origin: str, http: Http, query: list[bytes]) -> str:
        path = http.raw_path.decode("latin-1")
        text = b"&".join(query).decode("latin-1")
        return f"{origin}{path}" + (f"?{text}" if text else "")


def _host_of(http: Http) -> tuple[str, int]:
    """Name and port of the master, as the browser knows them."""
    host = http.header("host")
    name, separator, port = host.rpartition(":")
    if separator and port.isascii() and port.isdigit():
        return name, int(port)
    return host, 443 if http.is_secure else 80


def _origin_of(http: Http) -> str:
    name, port = _host_of(http)
    return _with_port(http, name, port)


def _with_port(http: Http, name: str, port: int) -> str:
    scheme, usual = ("https", 443) if http.is_secure else ("http", 80)
    return f"{scheme}://{name}" + ("" if port == usual else f":{port}")
