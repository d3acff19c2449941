"""TLS to the master: whom the agent trusts, what it shows, and what went wrong in words."""

from __future__ import annotations

import ssl
from pathlib import Path
from typing import TYPE_CHECKING

import msgspec
from websockets.exceptions import InvalidMessage

from determined_wire.agent_link import ContainerSpec, File

if TYPE_CHECKING:
    from determined_agent.settings.options import Settings, TlsSettings

MASTER_CERT_FILE = "/run/determined/etc/ssl/master.crt"
"""Where a task finds the certificates to trust."""

_NOT_YET_VALID, _EXPIRED, _WRONG_NAME, _WRONG_ADDRESS = 9, 10, 62, 64
"""What OpenSSL calls the results of a check; any other means: nobody trusted has signed it."""


class BadTlsFile(Exception):
    """A file of `security.tls` cannot be used; the text names the remedy."""


def link_context(tls: TlsSettings) -> ssl.SSLContext | None:
    """What the master is called with; None without TLS.

    Raises:
        BadTlsFile: one of the files cannot be read or holds something else.
    """
    if not tls.enabled:
        return None
    _check_readable(tls)
    context = ssl.create_default_context()
    # The master's own certificate may be named, without the authority that signed it.
    context.verify_flags |= ssl.VERIFY_X509_PARTIAL_CHAIN
    if tls.master_cert:
        try:
            context.load_verify_locations(tls.master_cert)
        except ssl.SSLError as error:
            raise BadTlsFile(
                f"security.tls.master_cert {tls.master_cert} holds no certificate in PEM form"
            ) from error
    if tls.skip_verify:
        context.check_hostname = False
        context.verify_mode = ssl.CERT_NONE
    if tls.client_cert and tls.client_key:
        try:
            context.load_cert_chain(tls.client_cert, tls.client_key, password=lambda: "")
        except ssl.SSLError as error:
            raise BadTlsFile(
                f"security.tls.client_cert {tls.client_cert} and client_key {tls.client_key} "
                f"cannot be used ({error.reason or error}): name a certificate and its key, "
                "not encrypted, in PEM form"
            ) from error
    return context


def problem_in_words(error: Exception, settings: Settings) -> str | None:
    """What a failed handshake means and what to do; None for an error of another kind."""
    tls, where = settings.security.tls, f"{settings.master_host}:{settings.master_port}"
    if isinstance(error, ssl.SSLCertVerificationError):
        return _untrusted(error, settings)
    if isinstance(error, InvalidMessage) and not tls.enabled:
        return f"{where} gave no answer: if it serves HTTPS, set security.tls.enabled"
    if not isinstance(error, ssl.SSLError):
        return None
    reason = error.reason or ""
    if reason in ("WRONG_VERSION_NUMBER", "HTTP_REQUEST", "RECORD_LAYER_FAILURE"):
        return f"{where} speaks no TLS: unset security.tls.enabled, or correct master_port"
    if "ALERT" in reason and tls.client_cert:
        return (
            f"the master does not take the certificate {tls.client_cert} ({reason}): it must be "
            "valid and signed by an authority of the master's resource_manager.client_ca"
        )
    return None


def with_trust(spec: ContainerSpec, tls: TlsSettings) -> ContainerSpec:
    """A task's specification with the authorities that this agent knows the master by.

    They are added to those that the master sent: on the way to it there may be a proxy with a
    certificate of its own.
    """
    if not tls.enabled or not tls.master_cert:
        return spec
    sent = [f.content for f in spec.files if f.path == MASTER_CERT_FILE]
    others = tuple(f for f in spec.files if f.path != MASTER_CERT_FILE)
    content = b"\n".join([*sent, Path(tls.master_cert).read_bytes()])
    trusted = File(MASTER_CERT_FILE, content, 0o644, is_root_owned=True)
    return msgspec.structs.replace(spec, files=(*others, trusted))


def task_variables(tls: TlsSettings) -> dict[str, str]:
    """By which tasks trust the master as this agent does."""
    variables = {}
    if tls.enabled and tls.skip_verify:
        variables["DET_MASTER_CERT_FILE"] = "noverify"
    elif tls.enabled and tls.master_cert:
        variables["DET_MASTER_CERT_FILE"] = MASTER_CERT_FILE
    if tls.master_cert_name:
        variables["DET_MASTER_CERT_NAME"] = tls.master_cert_name
    return variables


def _untrusted(error: ssl.SSLCertVerificationError, settings: Settings) -> str:
    host, name = settings.master_host, settings.security.tls.master_cert_name
    match error.verify_code:
        case int(code) if code == _EXPIRED:
            return f"the certificate of {host} has expired: renew the master's security.tls.cert"
        case int(code) if code == _NOT_YET_VALID:
            return f"the certificate of {host} is not valid yet: check both machines' clocks"
        case int(code) if code in (_WRONG_NAME, _WRONG_ADDRESS):
            return (
                f"the certificate of {host} does not carry the name '{name or host}': set "
                "security.tls.master_cert_name to a name that it carries"
            )
        case _:
            return (
                f"the certificate of {host} is signed by nobody whom this machine trusts "
                f"({error.verify_message}): set security.tls.master_cert to a file with it, or "
                "with the authority that signed it"
            )


def _check_readable(tls: TlsSettings) -> None:
    for name in ("master_cert", "client_cert", "client_key"):
        path = getattr(tls, name)
        try:
            if path:
                Path(path).open("rb").close()
        except OSError as error:
            raise BadTlsFile(
                f"security.tls.{name} {path} cannot be read: {error.strerror}; name a file that "
                "the agent may read"
            ) from error
