"""Which certificates a client trusts when the master speaks TLS."""

from __future__ import annotations

import errno
import os
from typing import TYPE_CHECKING, Mapping, Optional

if TYPE_CHECKING:
    import ssl

NOVERIFY = "noverify"
"""In place of a file's path: trust whatever certificate the master shows."""

_NOT_YET_VALID, _EXPIRED, _WRONG_NAME, _WRONG_ADDRESS = 9, 10, 62, 64
"""What OpenSSL calls the results of a check; any other means: nobody trusted has signed it."""
_NO_TLS = ("WRONG_VERSION_NUMBER", "HTTP_REQUEST", "RECORD_LAYER_FAILURE")


class Cert:
    """The trust a client puts in one master.

    Args:
        cert_pem: PEM text of the certificates to trust beside the system's; None for the
            system's alone.
        noverify: trust anything. Wins over `cert_pem`.
        name: the host name that the certificate must carry, where it is not the address's.
    """

    def __init__(
        self, cert_pem: Optional[str] = None, noverify: bool = False, name: Optional[str] = None
    ) -> None:
        self.cert_pem = cert_pem
        self.noverify = noverify
        self.name = name

    @classmethod
    def from_file(cls, path: Optional[str], name: Optional[str] = None) -> Cert:
        """The trust that DET_MASTER_CERT_FILE and DET_MASTER_CERT_NAME stand for.

        Raises:
            OSError: the file cannot be read, or holds no certificate as PEM text.
        """
        if not path:
            return cls(name=name or None)
        if path.lower() == NOVERIFY:
            return cls(noverify=True)
        with open(path, encoding="ascii", errors="replace") as file:
            text = file.read()
        if "CERTIFICATE-----" not in text:
            raise OSError(errno.EINVAL, "it holds no certificate as PEM text", path)
        return cls(cert_pem=text, name=name or None)

    def ssl_context(self) -> ssl.SSLContext:
        """A context for connections; imports ssl only when one is made."""
        import ssl

        context = ssl.create_default_context()
        # The master's own certificate may be given, without the authority that signed it.
        context.verify_flags |= getattr(ssl, "VERIFY_X509_PARTIAL_CHAIN", 0x80000)
        if self.noverify:
            context.check_hostname = False
            context.verify_mode = ssl.CERT_NONE
        elif self.cert_pem:
            context.load_verify_locations(cadata=self.cert_pem)
        return context


def cert_of_environment(env: Optional[Mapping[str, str]] = None) -> Cert:
    """The trust stated by a task's environment."""
    env = os.environ if env is None else env
    return Cert.from_file(env.get("DET_MASTER_CERT_FILE"), env.get("DET_MASTER_CERT_NAME"))


def problem_in_words(error: BaseException) -> Optional[str]:
    """What a failed TLS handshake means and what to do; None for an error of another kind."""
    import ssl

    if isinstance(error, ssl.SSLCertVerificationError):
        if error.verify_code == _EXPIRED:
            return "its certificate has expired: its admin has to renew it"
        if error.verify_code == _NOT_YET_VALID:
            return "its certificate is not valid yet: check the clock of this machine"
        if error.verify_code in (_WRONG_NAME, _WRONG_ADDRESS):
            return (
                "its certificate carries another name: call it by a name that the certificate "
                "carries, or set DET_MASTER_CERT_NAME to one"
            )
        return (
            "nobody whom this machine trusts has signed its certificate "
            f"({error.verify_message}): set DET_MASTER_CERT_FILE to a file with the "
            "certificate, or with the authority that signed it"
        )
    if isinstance(error, ssl.SSLError) and error.reason in _NO_TLS:
        return "it speaks no TLS: use an address with http://"
    return None
