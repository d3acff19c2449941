"""Keys for ssh between containers: derived, so that all containers of a trial get the same.

Nothing is stored: they follow from the cluster's secret, as the tokens of tasks do.
"""

from __future__ import annotations

import hashlib
import math
from functools import lru_cache
from typing import TYPE_CHECKING

from determined_master.domain.task.ssh_files import KeyPair

if TYPE_CHECKING:
    from cryptography.hazmat.primitives.asymmetric.types import PrivateKeyTypes

RSA_EXPONENT = 65537
RSA_BITS = (1024, 4096)
"""OpenSSH refuses shorter keys, and to derive longer ones takes minutes."""
_ROUNDS = 40
"""Of Miller and Rabin: the chance of a composite is below 4 to this power."""


@lru_cache(maxsize=64)
def derive_key_pair(seed: bytes, key_type: str, rsa_bits: int) -> KeyPair:
    """The key pair that follows from a seed.

    Args:
        seed: 32 secret bytes, of one experiment.
        key_type: ED25519, ECDSA or RSA.
        rsa_bits: length of an RSA key, brought within `RSA_BITS`.

    Cost: under 1 ms; with RSA several seconds at 4,096 bits, so call it in a thread.
    """
    from cryptography.hazmat.primitives.serialization import (
        Encoding,
        NoEncryption,
        PrivateFormat,
        PublicFormat,
    )

    key = _private_key(seed, key_type, rsa_bits)
    private = key.private_bytes(Encoding.PEM, PrivateFormat.OpenSSH, NoEncryption())
    public = key.public_key().public_bytes(Encoding.OpenSSH, PublicFormat.OpenSSH)
    return KeyPair(private, public)


def _private_key(seed: bytes, key_type: str, rsa_bits: int) -> PrivateKeyTypes:
    from cryptography.hazmat.primitives.asymmetric import ec, ed25519, rsa

    if key_type == "ED25519":
        return ed25519.Ed25519PrivateKey.from_private_bytes(seed)
    if key_type == "ECDSA":
        order = 0xFFFFFFFF00000000FFFFFFFFFFFFFFFFBCE6FAADA7179E84F3B9CAC2FC632551
        wide = int.from_bytes(hashlib.shake_256(seed + b"ecdsa").digest(64), "big")
        return ec.derive_private_key(wide % (order - 1) + 1, ec.SECP256R1())
    bits = min(max(rsa_bits, RSA_BITS[0]), RSA_BITS[1])
    p, q = _prime(seed + b"p", bits - bits // 2), _prime(seed + b"q", bits // 2)
    p, q = max(p, q), min(p, q)
    d = pow(RSA_EXPONENT, -1, math.lcm(p - 1, q - 1))
    public = rsa.RSAPublicNumbers(RSA_EXPONENT, p * q)
    numbers = rsa.RSAPrivateNumbers(
        p, q, d, rsa.rsa_crt_dmp1(d, p), rsa.rsa_crt_dmq1(d, q), rsa.rsa_crt_iqmp(p, q), public
    )
    return numbers.private_key()


def _prime(seed: bytes, bits: int) -> int:
    """The first prime of a stream of candidates, its two upper bits set."""
    stream = int.from_bytes(hashlib.shake_256(seed).digest(bits // 8 + 1), "big")
    candidate = (stream & ((1 << bits) - 1)) | (0b11 << (bits - 2)) | 1
    while not (
        (candidate - 1) % RSA_EXPONENT
        and math.gcd(candidate, _SMALL) == 1
        and _is_prime(candidate)
    ):
        candidate += 2
    return candidate


def _is_prime(number: int) -> bool:
    """Miller's test with bases that follow from the number."""
    twos = ((number - 1) & -(number - 1)).bit_length() - 1
    odd = (number - 1) >> twos
    size = number.bit_length() // 8 + 8
    for round_ in range(_ROUNDS):
        digest = hashlib.shake_256(number.to_bytes(size, "big") + bytes([round_])).digest(size)
        x = pow(int.from_bytes(digest, "big") % (number - 3) + 2, odd, number)
        if x in (1, number - 1):
            continue
        for _ in range(twos - 1):
            x = x * x % number
            if x == number - 1:
                break
        else:
            return False
    return True


_SMALL = math.prod(n for n in range(3, 2000, 2) if all(n % m for m in range(3, math.isqrt(n) + 1)))
