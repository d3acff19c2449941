"""The cluster's own certificate authority: it vouches for servers inside tasks.

Its key and those of the tasks are derived from the cluster's secret, so nothing is stored and a
repeated start gives a task the same key. Only the master's proxy trusts it. Source: task-contract
7.2.
"""

from __future__ import annotations

import ssl
from datetime import UTC, datetime
from functools import cached_property

import msgspec
from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.x509.oid import NameOID

from determined_master.services.access.task_tokens import TaskTokens

NAME = "Determined cluster"
BEGINS_AT = datetime(2020, 1, 1, tzinfo=UTC)
ENDS_AT = datetime(2120, 1, 1, tzinfo=UTC)
"""A certificate is as good as the secret that it follows from: its end would protect nothing."""
_CURVE = ec.SECP256R1()
_ORDER = 0xFFFFFFFF00000000FFFFFFFFFFFFFFFFBCE6FAADA7179E84F3B9CAC2FC632551
"""Of the curve's group: private keys are 1 to this less 1. Source: FIPS 186-4, D.1.2.3."""


class Issued(msgspec.Struct, frozen=True):
    """A certificate and its key, both PEM."""

    certificate: bytes
    key: bytes


class ClusterAuthority:
    """Signs what servers inside tasks show, and checks it."""

    def __init__(self, tokens: TaskTokens) -> None:
        self._tokens = tokens

    def issue(self, task_id: str) -> Issued:
        """A certificate for the server of one task, whose id is the name that it carries."""
        key = self._key(f"task:{task_id}")
        names = x509.SubjectAlternativeName([x509.DNSName(task_id)])
        builder = self._builder(task_id, key).add_extension(names, critical=False)
        builder = builder.add_extension(
            x509.AuthorityKeyIdentifier.from_issuer_public_key(self._own_key.public_key()),
            critical=False,
        )
        plain = x509.BasicConstraints(ca=False, path_length=None)
        signed = builder.add_extension(plain, critical=True).sign(self._own_key, hashes.SHA256())
        return Issued(
            certificate=signed.public_bytes(serialization.Encoding.PEM),
            key=key.private_bytes(
                serialization.Encoding.PEM,
                serialization.PrivateFormat.PKCS8,
                serialization.NoEncryption(),
            ),
        )

    @cached_property
    def client_context(self) -> ssl.SSLContext:
        """For connections to servers that were given a certificate by `issue`."""
        context = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
        context.minimum_version = ssl.TLSVersion.TLSv1_2
        pem = self._certificate.public_bytes(serialization.Encoding.PEM)
        context.load_verify_locations(cadata=pem.decode())
        return context

    @cached_property
    def _own_key(self) -> ec.EllipticCurvePrivateKey:
        return self._key("authority")

    @cached_property
    def _certificate(self) -> x509.Certificate:
        authority = x509.BasicConstraints(ca=True, path_length=0)
        use = x509.KeyUsage(
            digital_signature=False,
            content_commitment=False,
            key_encipherment=False,
            data_encipherment=False,
            key_agreement=False,
            key_cert_sign=True,
            crl_sign=True,
            encipher_only=False,
            decipher_only=False,
        )
        builder = self._builder(NAME, self._own_key).add_extension(authority, critical=True)
        builder = builder.add_extension(use, critical=True)
        return builder.sign(self._own_key, hashes.SHA256())

    def _key(self, name: str) -> ec.EllipticCurvePrivateKey:
        seed = int.from_bytes(self._tokens.certificate_seed(name))
        return ec.derive_private_key(seed % (_ORDER - 1) + 1, _CURVE)

    def _builder(self, name: str, key: ec.EllipticCurvePrivateKey) -> x509.CertificateBuilder:
        return (
            x509.CertificateBuilder()
            .subject_name(_named(name))
            .issuer_name(_named(NAME))
            .public_key(key.public_key())
            .serial_number(int.from_bytes(self._tokens.certificate_seed(f"serial:{name}")[:16]))
            .not_valid_before(BEGINS_AT)
            .not_valid_after(ENDS_AT)
            .add_extension(
                x509.SubjectKeyIdentifier.from_public_key(key.public_key()), critical=False
            )
        )


def _named(name: str) -> x509.Name:
    return x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, name)])
