"""Serving HTTPS: the master's certificate, and those that agents show.

One port serves browsers, tasks and agents, so a certificate is asked for and not demanded in the
handshake; who must show one is decided when an agent joins.
"""

from __future__ import annotations

import ssl
from datetime import datetime, timedelta
from pathlib import Path
from typing import TYPE_CHECKING, Any

from cryptography import x509
from uvicorn.protocols.websockets.websockets_sansio_impl import WebSocketsSansIOProtocol

if TYPE_CHECKING:
    from websockets.http11 import Request

    from determined_master.settings_security import Tls

RENEW_WITHIN = timedelta(days=14)


class BadCertificate(Exception):
    """A file cannot be used; `part` is cert, key or client_ca, the text names the remedy."""

    def __init__(self, part: str, text: str) -> None:
        super().__init__(text)
        self.part = part


class AgentSocket(WebSocketsSansIOProtocol):
    """A WebSocket that tells in its scope whether a certificate was shown (ASGI's `tls`)."""

    def handle_connect(self, event: Request) -> None:
        """Begin to serve; the scope is read in a later turn of the loop."""
        super().handle_connect(event)
        shown = self.transport.get_extra_info("peercert") if self.scheme == "wss" else None
        if self.response.status_code == 101 and shown:
            scope: Any = self.scope
            scope["extensions"]["tls"] = {"client_cert_name": _name(shown)}


def server_context(tls: Tls, client_ca: str = "") -> ssl.SSLContext:
    """What the listener serves TLS with, from version 1.2 on.

    Args:
        tls: certificate chain and key.
        client_ca: file of the authorities of agents' certificates; empty: none is asked for.

    Raises:
        BadCertificate: a file cannot be read, or key and certificate do not belong together.
    """
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.minimum_version = ssl.TLSVersion.TLSv1_2
    certificate_chain(tls.cert)
    _check_readable("key", tls.key)
    try:
        context.load_cert_chain(tls.cert, tls.key, password=_no_password)
    except ssl.SSLError as error:
        raise BadCertificate("key", _key_problem(tls, error)) from error
    if client_ca:
        _check_readable("client_ca", client_ca)
        try:
            context.load_verify_locations(client_ca)
        except ssl.SSLError as error:
            text = f"{client_ca} holds no certificate in PEM form ({error.reason})"
            raise BadCertificate("client_ca", text) from error
        context.verify_mode = ssl.CERT_OPTIONAL
    return context


def certificate_chain(path: str) -> bytes:
    """The master's certificates as tasks get them. Raises BadCertificate."""
    _check_readable("cert", path)
    content = Path(path).read_bytes()
    try:
        x509.load_pem_x509_certificates(content)
    except ValueError as error:
        text = f"{path} holds no certificate in PEM form: put the chain there, the master's first"
        raise BadCertificate("cert", text) from error
    return content


def lifetime_warning(path: str, now: datetime) -> str | None:
    """What the admin should do about the master's certificate soon, or should have done."""
    leaf = x509.load_pem_x509_certificates(certificate_chain(path))[0]
    begins_at, ends_at = leaf.not_valid_before_utc, leaf.not_valid_after_utc
    if now < begins_at:
        return f"the certificate {path} is valid only from {begins_at:%Y-%m-%d}: check the clock"
    if now > ends_at:
        text = "agents, tasks and users refuse it: renew it and start the master again"
        return f"the certificate {path} has expired on {ends_at:%Y-%m-%d}; {text}"
    if now > ends_at - RENEW_WITHIN:
        return f"the certificate {path} expires on {ends_at:%Y-%m-%d}: renew it"
    return None


def _check_readable(part: str, path: str) -> None:
    try:
        with Path(path).open("rb"):
            return
    except OSError as error:
        text = f"{path} cannot be read: {error.strerror}; name a file that the master may read"
        raise BadCertificate(part, text) from error


def _no_password() -> str:
    return ""  # else OpenSSL asks the terminal, and a service waits for ever


def _key_problem(tls: Tls, error: ssl.SSLError) -> str:
    if error.reason == "KEY_VALUES_MISMATCH":
        return f"{tls.key} is not the key of {tls.cert}: name the two that were made together"
    if b"ENCRYPTED" in Path(tls.key).read_bytes():
        return f"{tls.key} is encrypted: decrypt it, with `openssl pkey` for instance"
    return f"{tls.key} holds no private key in PEM form ({error.reason or error})"


def _name(shown: dict[str, Any]) -> str:
    """The subject of a certificate as `CN=agent-1`."""
    parts = [pair for group in shown.get("subject", ()) for pair in group]
    return ",".join(f"{'CN' if key == 'commonName' else key}={value}" for key, value in parts)
