"""Certificates made for a test, by an authority of its own."""

from __future__ import annotations

import ipaddress
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import NamedTuple

from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.x509.oid import NameOID

DAY = timedelta(days=1)


class Pair(NamedTuple):
    """Files of a certificate and its key."""

    cert: Path
    key: Path


class Authority:
    """Signs certificates; `cert` is the file by which others trust it."""

    def __init__(self, directory: Path, name: str = "authority") -> None:
        self._directory = directory
        self._key = ec.generate_private_key(ec.SECP256R1())
        self._name = x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, name)])
        now = datetime.now(UTC)
        signed = (
            x509.CertificateBuilder()
            .subject_name(self._name)
            .issuer_name(self._name)
            .public_key(self._key.public_key())
            .serial_number(x509.random_serial_number())
            .not_valid_before(now - 30 * DAY)
            .not_valid_after(now + 300 * DAY)
            .add_extension(x509.BasicConstraints(ca=True, path_length=None), critical=True)
            .add_extension(_usage(is_authority=True), critical=True)
            .add_extension(_identifier(self._key), critical=False)
            .sign(self._key, hashes.SHA256())
        )
        self.pem = signed.public_bytes(serialization.Encoding.PEM)
        self.cert = directory / f"{name}.crt"
        self.cert.write_bytes(self.pem)

    def sign(self, *names: str, begins: int = -10, ends: int = 90, has_chain: bool = True) -> Pair:
        """A certificate for these names and addresses; the first names its files.

        Args:
            names: host names or IP addresses.
            begins: days from now from which it is valid.
            ends: days from now until which it is.
            has_chain: whether its file holds the authority's certificate too.
        """
        key = ec.generate_private_key(ec.SECP256R1())
        now = datetime.now(UTC)
        own = x509.SubjectKeyIdentifier.from_public_key(self._key.public_key())
        signed = (
            x509.CertificateBuilder()
            .subject_name(x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, names[0])]))
            .issuer_name(self._name)
            .public_key(key.public_key())
            .serial_number(x509.random_serial_number())
            .not_valid_before(now + begins * DAY)
            .not_valid_after(now + ends * DAY)
            .add_extension(x509.SubjectAlternativeName(list(map(_named, names))), critical=False)
            .add_extension(_usage(is_authority=False), critical=True)
            .add_extension(_identifier(key), critical=False)
            .add_extension(
                x509.AuthorityKeyIdentifier.from_issuer_subject_key_identifier(own),
                critical=False,
            )
            .sign(self._key, hashes.SHA256())
        )
        pem = signed.public_bytes(serialization.Encoding.PEM)
        made = Pair(self._directory / f"{names[0]}.crt", self._directory / f"{names[0]}.key")
        made.cert.write_bytes(pem + (self.pem if has_chain else b""))
        made.key.write_bytes(_private(key, serialization.NoEncryption()))
        return made


def encrypted_key(path: Path) -> Path:
    """A private key under a password."""
    key = ec.generate_private_key(ec.SECP256R1())
    path.write_bytes(_private(key, serialization.BestAvailableEncryption(b"secret")))
    return path


def _private(
    key: ec.EllipticCurvePrivateKey, how: serialization.KeySerializationEncryption
) -> bytes:
    return key.private_bytes(serialization.Encoding.PEM, serialization.PrivateFormat.PKCS8, how)


def _named(name: str) -> x509.GeneralName:
    try:
        return x509.IPAddress(ipaddress.ip_address(name))
    except ValueError:
        return x509.DNSName(name)


def _identifier(key: ec.EllipticCurvePrivateKey) -> x509.SubjectKeyIdentifier:
    return x509.SubjectKeyIdentifier.from_public_key(key.public_key())


def _usage(*, is_authority: bool) -> x509.KeyUsage:
    return x509.KeyUsage(
        digital_signature=True,
        content_commitment=False,
        key_encipherment=False,
        data_encipherment=False,
        key_agreement=False,
        key_cert_sign=is_authority,
        crl_sign=is_authority,
        encipher_only=False,
        decipher_only=False,
    )
