"""Trusted certificates of masters: asks the user, and stores one file for each master."""

from __future__ import annotations

import hashlib
import os
import pathlib
import sys

from determined.cli import errors
from determined.common import private_file
from determined.common.api import _address, certs

_UNTRUSTED = (18, 19, 20, 21)
"""OpenSSL's error codes for a certificate without a trusted issuer."""


def cert_of(address: str) -> certs.Cert:
    """The certificate settings for the master at this address.

    DET_MASTER_CERT_FILE wins over a certificate that the user accepted.

    Raises:
        CliError: the file that DET_MASTER_CERT_FILE names cannot be used.
        OSError: the stored certificate cannot be read.
    """
    accepted = file_of(address)
    if os.environ.get("DET_MASTER_CERT_FILE") or not accepted.exists():
        try:
            return certs.cert_of_environment()
        except OSError as error:
            raise errors.CliError(f"DET_MASTER_CERT_FILE is {errors.in_words(error)}") from None
    return certs.Cert.from_file(str(accepted), os.environ.get("DET_MASTER_CERT_NAME"))


def is_accepted(address: str, error: BaseException) -> bool:
    """Ask whether to trust the certificate that made a command fail, and store it if so.

    Asks only at a terminal, and only about a certificate without a trusted issuer. An expired
    certificate or a wrong host name stays an error.
    """
    is_untrusted = getattr(error.__cause__, "verify_code", None) in _UNTRUSTED
    if not is_untrusted or not sys.stdin.isatty() or os.environ.get("DET_MASTER_CERT_FILE"):
        return False
    import ssl

    where = _address.parse_address(address)
    try:
        pem = ssl.get_server_certificate((where.host, where.port))
    except OSError:
        return False
    digest = hashlib.sha256(ssl.PEM_cert_to_DER_cert(pem)).hexdigest()
    fingerprint = ":".join(digest[i : i + 2] for i in range(0, len(digest), 2))
    print(
        f"This machine does not trust the issuer of the certificate of the master at {address}."
        f"\nIts SHA-256 fingerprint is {fingerprint}\n"
        "Compare it with the fingerprint that the admin has: if they differ, do not trust it.\n"
        "Trust it from now on? [y/N]: ",
        end="",
        file=sys.stderr,
        flush=True,
    )
    if sys.stdin.readline().strip().lower() not in ("y", "yes"):
        return False
    file = file_of(address)
    file.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
    file.write_text(pem, encoding="utf-8")
    return True


def file_of(address: str) -> pathlib.Path:
    """The file of the accepted certificate of one master."""
    where = _address.parse_address(address)
    host = where.host.replace(":", "_")
    return private_file.config_path() / "certificates" / f"{host}_{where.port}.pem"
