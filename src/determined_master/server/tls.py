"""Serves HTTPS: the master's certificate, and verification of agents' certificates.

One port serves browsers, tasks and agents, so the handshake requests a certificate without
requiring it. Whether one is required is decided when an agent joins.
"""

from __future__ import annotations

import asyncio
import logging
import os
import ssl
from datetime import datetime, timedelta
from pathlib import Path
from typing import TYPE_CHECKING, Any, Protocol

from uvicorn.protocols.websockets.websockets_sansio_impl import WebSocketsSansIOProtocol

from determined_master import clock
from determined_master.server.forwarded import client_address, trusted_proxies

if TYPE_CHECKING:
    from cryptography.x509 import Certificate
    from websockets.http11 import Request

log = logging.getLogger(__name__)

UNREADABLE = (
    b"HTTP/1.1 400 Bad Request\r\nContent-Type: text/plain; charset=utf-8\r\n"
    b"Connection: close\r\nContent-Length: %d\r\n\r\n"
)
RENEW_WITHIN = timedelta(days=14)
RENEWALS_EVERY_S = 60.0
_REMINDER = timedelta(days=1)


class BadCertificate(Exception):
    """A file cannot be used; `part` is cert, key or client_ca, and the text has the remedy."""

    def __init__(self, part: str, text: str) -> None:
        super().__init__(text)
        self.part = part


class AgentSocket(WebSocketsSansIOProtocol):
    """A WebSocket whose scope has the client's certificate.

    That is ASGI's extension `tls`, with our own `client_cert_names`: the certificate's subjects.
    """

    def data_received(self, data: bytes) -> None:
        """Read bytes; uvicorn would never answer a handshake that cannot be parsed."""
        super().data_received(data)
        fault = self.conn.handshake_exc
        if fault is not None and not self.handshake_initiated:
            text = f"the handshake of a WebSocket cannot be read: {fault.__cause__ or fault}"
            head = UNREADABLE % len(text.encode())
            self.transport.write(head + text.encode())
            self.transport.close()

    async def send(self, message: Any) -> None:
        """The status in ASGI's terms; a handshake that was refused counts as completed."""
        await super().send(message)
        is_last = not message.get("more_body", False)
        if message["type"] == "websocket.http.response.body" and is_last:
            self.handshake_complete = True

    def handle_connect(self, event: Request) -> None:
        """Begin to serve; the scope is read in a later iteration of the loop."""
        super().handle_connect(event)
        if self.response.status_code == 101 and self.client:
            trusted = trusted_proxies(self.config)
            client = client_address(self.client[0], self.scope["headers"], trusted)
            self.scope["client"] = (client, self.client[1])
        certificate = self.transport.get_extra_info("peercert") if self.scheme == "wss" else None
        if self.response.status_code == 101 and certificate:
            scope: Any = self.scope
            names = {
                "client_cert_name": _subject(certificate),
                "client_cert_names": _names(certificate),
            }
            scope["extensions"]["tls"] = names


class CertificateFiles(Protocol):
    """The section `security.tls` of the settings."""

    @property
    def cert(self) -> str: ...
    @property
    def key(self) -> str: ...


def server_context(tls: CertificateFiles, client_ca: str = "") -> ssl.SSLContext:
    """The TLS context of the listener, version 1.2 or later.

    Args:
        tls: certificate chain and key.
        client_ca: file of the authorities of agents' certificates; empty requests none.

    Raises:
        BadCertificate: a file cannot be read, or key and certificate do not belong together.
    """
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.minimum_version = ssl.TLSVersion.TLSv1_2
    _load(context, tls)
    if client_ca:
        _check_readable("client_ca", client_ca)
        try:
            context.load_verify_locations(client_ca)
        except ssl.SSLError as error:
            text = f"{client_ca} holds no certificate in PEM form ({error.reason})"
            raise BadCertificate("client_ca", text) from error
        context.verify_mode = ssl.CERT_OPTIONAL
    return context


async def follow_renewals(
    context: ssl.SSLContext, tls: CertificateFiles, *, every_s: float = RENEWALS_EVERY_S
) -> None:
    """Serve new connections with a certificate once it is renewed on disk; until cancelled.

    It also logs when the certificate expires, at the start and once a day.
    """
    last, told_at = _stamps(tls), None
    while True:
        now = clock.now()
        if told_at is None or now - told_at >= _REMINDER:
            told_at = now
            if warning := lifetime_warning(tls.cert, now):
                log.warning(warning)
        await asyncio.sleep(every_s)
        current = _stamps(tls)
        if current == last:
            continue
        try:
            # In a context of its own first: a context in which loading fails is left without a
            # certificate.
            _load(ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER), tls)
            _load(context, tls)
        except BadCertificate as error:
            log.error("a renewed certificate cannot be used: %s", error)
        else:
            told_at = None
            log.info("a renewed certificate is served", extra={"cert": tls.cert})
        last = current


def lifetime_warning(path: str, now: datetime) -> str | None:
    """The admin's next step for a certificate that expires soon, or has expired."""
    try:
        leaf = _certificates(path)[0]
    except (OSError, ValueError) as error:
        return f"the certificate {path} cannot be read any more: {error}"
    begins_at, ends_at = leaf.not_valid_before_utc, leaf.not_valid_after_utc
    if now < begins_at:
        return f"the certificate {path} is valid only from {begins_at:%Y-%m-%d}: check the clock"
    if now > ends_at:
        text = "agents, tasks and users refuse it: renew it"
        return f"the certificate {path} has expired on {ends_at:%Y-%m-%d}; {text}"
    if now > ends_at - RENEW_WITHIN:
        return f"the certificate {path} expires on {ends_at:%Y-%m-%d}: renew it"
    return None


def _load(context: ssl.SSLContext, tls: CertificateFiles) -> None:
    _check_readable("cert", tls.cert)
    _check_readable("key", tls.key)
    try:
        _certificates(tls.cert)
    except ValueError as error:
        text = f"{tls.cert} holds no certificate in PEM form: put the chain there, the master's"
        raise BadCertificate("cert", f"{text} first") from error
    try:
        context.load_cert_chain(tls.cert, tls.key, password=_no_password)
    except ssl.SSLError as error:
        raise BadCertificate("key", _key_problem(tls, error)) from error


def _certificates(path: str) -> list[Certificate]:
    """Raises OSError, and ValueError when the file has none."""
    from cryptography import x509  # 50 modules, for masters with TLS

    return x509.load_pem_x509_certificates(Path(path).read_bytes())


def _stamps(tls: CertificateFiles) -> tuple[tuple[int, int, int] | None, ...]:
    """Identify the current files; a renewal replaces them."""
    stamps: list[tuple[int, int, int] | None] = []
    for path in (tls.cert, tls.key):
        try:
            status = os.stat(path)
        except OSError:
            stamps.append(None)
        else:
            stamps.append((status.st_ino, status.st_size, status.st_mtime_ns))
    return tuple(stamps)


def _check_readable(part: str, path: str) -> None:
    try:
        with Path(path).open("rb"):
            return
    except OSError as error:
        text = f"{path} cannot be read: {error.strerror}; name a file that the master may read"
        raise BadCertificate(part, text) from error


def _no_password() -> str:
    return ""  # otherwise OpenSSL asks on the terminal, and a service waits forever


def _key_problem(tls: CertificateFiles, error: ssl.SSLError) -> str:
    if error.reason == "KEY_VALUES_MISMATCH":
        return f"{tls.key} is not the key of {tls.cert}: name the two that were made together"
    if b"ENCRYPTED" in Path(tls.key).read_bytes():
        return f"{tls.key} is encrypted: decrypt it, with `openssl pkey` for instance"
    return f"{tls.key} holds no private key in PEM form ({error.reason or error})"


def _subject(certificate: dict[str, Any]) -> str:
    """The subject of a certificate, such as `CN=agent-1`."""
    return ",".join(
        f"{'CN' if key == 'commonName' else key}={value}" for key, value in _parts(certificate)
    )


def _names(certificate: dict[str, Any]) -> list[str]:
    """Its common names, and its alternative DNS names."""
    common = [value for key, value in _parts(certificate) if key == "commonName"]
    return [*common, *(v for kind, v in certificate.get("subjectAltName", ()) if kind == "DNS")]


def _parts(certificate: dict[str, Any]) -> list[tuple[str, str]]:
    return [pair for group in certificate.get("subject", ()) for pair in group]
