"""The certificates that a client trusts."""

from __future__ import annotations

import errno
import os
from typing import TYPE_CHECKING, Mapping, Optional

if TYPE_CHECKING:
    import ssl

NOVERIFY = "noverify"
"""Used instead of a file's path: do not verify the master's certificate."""

_NOT_YET_VALID, _EXPIRED, _WRONG_NAME, _WRONG_ADDRESS = 9, 10, 62, 64
"""Verification results of OpenSSL; any other one means an untrusted issuer."""
_NO_TLS = ("WRONG_VERSION_NUMBER", "HTTP_REQUEST", "RECORD_LAYER_FAILURE")


class Cert:
    """The certificates to trust for one master.

    Args:
        cert_pem: PEM text of certificates to trust besides the system's; None for none.
        noverify: do not verify the certificate. Overrides `cert_pem`.
        name: the host name that the certificate must have, if it differs from the address.
    """

    def __init__(
        self, cert_pem: Optional[str] = None, noverify: bool = False, name: Optional[str] = None
    ) -> None:
        self.cert_pem = cert_pem
        self.noverify = noverify
        self.name = name

    @classmethod
    def from_file(cls, path: Optional[str], name: Optional[str] = None) -> Cert:
        """Read the values of DET_MASTER_CERT_FILE and DET_MASTER_CERT_NAME.

        Raises:
            OSError: the file cannot be read, or has no valid PEM certificate.
        """
        if not path:
            return cls(name=name or None)
        if path.lower() == NOVERIFY:
            return cls(noverify=True)
        with open(path, encoding="ascii", errors="ignore") as file:  # comments may have any
            text = file.read()
        if "CERTIFICATE-----" not in text:
            raise OSError(errno.EINVAL, "the file has no PEM certificate", path)
        cert = cls(cert_pem=text, name=name or None)
        try:
            cert.ssl_context()
        except (OSError, ValueError):
            reason = "the file has no valid PEM certificate"
            raise OSError(errno.EINVAL, reason, path) from None
        return cert

    def ssl_context(self) -> ssl.SSLContext:
        """A context for connections; imports `ssl` on first use."""
        import ssl

        context = ssl.create_default_context()
        # The file may have the master's own certificate without its issuer.
        context.verify_flags |= getattr(ssl, "VERIFY_X509_PARTIAL_CHAIN", 0x80000)
        if self.noverify:
            context.check_hostname = False
            context.verify_mode = ssl.CERT_NONE
        elif self.cert_pem:
            context.load_verify_locations(cadata=self.cert_pem)
        return context


def cert_of_environment(env: Optional[Mapping[str, str]] = None) -> Cert:
    """The trusted certificates from a task's environment."""
    env = os.environ if env is None else env
    return Cert.from_file(env.get("DET_MASTER_CERT_FILE"), env.get("DET_MASTER_CERT_NAME"))


def problem_in_words(error: BaseException) -> Optional[str]:
    """The cause and remedy of a failed TLS handshake; None for other errors."""
    import ssl

    if isinstance(error, ssl.SSLCertVerificationError):
        if error.verify_code == _EXPIRED:
            return "its certificate has expired; an admin must renew it"
        if error.verify_code == _NOT_YET_VALID:
            return "its certificate is not valid yet; check the clock of this machine"
        if error.verify_code in (_WRONG_NAME, _WRONG_ADDRESS):
            return (
                "its certificate has another name: use an address with a name of the certificate, "
                "or set DET_MASTER_CERT_NAME to such a name"
            )
        return (
            "this machine does not trust the issuer of its certificate "
            f"({error.verify_message}): set DET_MASTER_CERT_FILE to a file with the "
            "certificate, or with that of its issuer"
        )
    if isinstance(error, ssl.SSLError) and error.reason in _NO_TLS:
        return "it does not use TLS; use http://"
    return None
