"""TLS to the master: trusted authorities, the agent's certificate, and texts for errors."""

from __future__ import annotations

import ssl
from pathlib import Path

from websockets.exceptions import InvalidMessage

from determined_agent.settings.options import Settings, TlsSettings

_NOT_YET_VALID, _EXPIRED, _WRONG_NAME, _WRONG_ADDRESS = 9, 10, 62, 64
"""Verification results of OpenSSL; any other means that no trusted authority has signed it."""


class TlsFileError(Exception):
    """A file of `security.tls` cannot be used; the text names the remedy."""


def ssl_context(tls: TlsSettings) -> ssl.SSLContext | None:
    """Return the context for connections to the master; None without TLS.

    Raises:
        TlsFileError: one of the files cannot be read or holds something else.
    """
    if not tls.enabled:
        return None
    _check_readable(tls)
    context = ssl.create_default_context()
    # The setting may name the master's own certificate, without the authority that signed it.
    context.verify_flags |= ssl.VERIFY_X509_PARTIAL_CHAIN
    if tls.master_cert:
        try:
            context.load_verify_locations(tls.master_cert)
        except ssl.SSLError as error:
            raise TlsFileError(
                f"security.tls.master_cert {tls.master_cert} holds no certificate in PEM form"
            ) from error
    if tls.skip_verify:
        context.check_hostname = False
        context.verify_mode = ssl.CERT_NONE
    if tls.client_cert and tls.client_key:
        try:
            context.load_cert_chain(tls.client_cert, tls.client_key, password=lambda: "")
        except ssl.SSLError as error:
            raise TlsFileError(
                f"security.tls.client_cert {tls.client_cert} and client_key {tls.client_key} "
                f"cannot be used ({error.reason or error}): name a certificate and its key, "
                "not encrypted, in PEM form"
            ) from error
    return context


def tls_error_text(error: Exception, settings: Settings) -> str | None:
    """Return the cause and remedy of a failed handshake; None for an error of another kind."""
    tls, address = settings.security.tls, f"{settings.master_host}:{settings.master_port}"
    if isinstance(error, ssl.SSLCertVerificationError):
        return _certificate_error_text(error, settings)
    if isinstance(error, InvalidMessage) and not tls.enabled:
        return f"{address} gave no answer: if it serves HTTPS, set security.tls.enabled"
    if not isinstance(error, ssl.SSLError):
        return None
    reason = error.reason or ""
    if reason in ("WRONG_VERSION_NUMBER", "HTTP_REQUEST", "RECORD_LAYER_FAILURE"):
        return f"{address} does not use TLS: unset security.tls.enabled, or correct master_port"
    if "ALERT" in reason and tls.client_cert:
        return (
            f"the master does not accept the certificate {tls.client_cert} ({reason}): it must be "
            "valid and signed by an authority of the master's resource_manager.client_ca"
        )
    return None


def _certificate_error_text(error: ssl.SSLCertVerificationError, settings: Settings) -> str:
    host, name = settings.master_host, settings.security.tls.master_cert_name
    match error.verify_code:
        case int(code) if code == _EXPIRED:
            return f"the certificate of {host} has expired: renew the master's security.tls.cert"
        case int(code) if code == _NOT_YET_VALID:
            return f"the certificate of {host} is not valid yet: check both machines' clocks"
        case int(code) if code in (_WRONG_NAME, _WRONG_ADDRESS):
            return (
                f"the certificate of {host} does not have the name '{name or host}': set "
                "security.tls.master_cert_name to a name that it has"
            )
        case _:
            return (
                f"the certificate of {host} is not signed by an authority that this machine "
                f"trusts ({error.verify_message}): set security.tls.master_cert to a file with "
                "the certificate, or with the authority that signed it"
            )


def _check_readable(tls: TlsSettings) -> None:
    for name in ("master_cert", "client_cert", "client_key"):
        path = getattr(tls, name)
        try:
            if path:
                Path(path).open("rb").close()
        except OSError as error:
            raise TlsFileError(
                f"security.tls.{name} {path} cannot be read: {error.strerror}; name a file that "
                "the agent may read"
            ) from error
