"""Passwords: what clients send of them, and the slow hash that is stored."""

from __future__ import annotations

import asyncio
import hashlib
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor

from argon2 import PasswordHasher
from argon2.exceptions import InvalidHashError, VerificationError

from determined_master.domain.access.passwords import refusal
from determined_master.domain.errors import InvalidArgument, ResourceExhausted

CLIENT_SALT = "GubPEmmotfiK9TMD6Zdw"
"""The salt that clients have hashed passwords with since ever; no secret."""

MAX_WAITING = 64
"""Checks that may wait for a thread; each takes tens of milliseconds of a core."""


def client_hash(password: str) -> str:
    """The form of a password that clients send: hexadecimal SHA-512 of salt and password."""
    return hashlib.sha512((CLIENT_SALT + password).encode()).hexdigest()


def hashed_form(password: str, *, is_hashed: bool) -> str:
    """The client's form of a password that came in either form.

    Raises:
        InvalidArgument: the password is blank, in the clear or hashed.
    """
    if not password.strip() or password == client_hash(""):
        raise InvalidArgument("the password is blank: give one")
    return password if is_hashed else client_hash(password)


def new_hashed_form(password: str, *, is_hashed: bool) -> str:
    """The client's form of a new password.

    Raises:
        InvalidArgument: the password is blank, or in the clear and refused. A client that sends
            the hashed form has asked for the rule.
    """
    if not is_hashed and (text := refusal(password)) is not None:
        raise InvalidArgument(text)
    return hashed_form(password, is_hashed=is_hashed)


class Passwords:
    """Hashes and checks passwords in its own threads, so that nothing waits for it.

    Cost of a check: argon2id with 64 MiB and two passes, about 100 ms of a core.
    """

    def __init__(self, *, memory_kib: int = 65536, time_cost: int = 2) -> None:
        self._hasher = PasswordHasher(time_cost=time_cost, memory_cost=memory_kib, parallelism=1)
        self._threads = ThreadPoolExecutor(2, thread_name_prefix="passwords")
        self._waiting = 0

    def close(self) -> None:
        """Wait for the checks under way."""
        self._threads.shutdown()

    async def hash(self, hashed: str) -> str:
        """The stored form of a password in its client's form."""
        return str(await self._run(self._hasher.hash, hashed))

    async def matches(self, stored: str | None, hashed: str) -> bool:
        """Whether a password is the stored one; as slow when nothing is stored."""
        if stored is None:
            await self._run(self._hasher.hash, hashed)
            return False
        return bool(await self._run(self._verify, stored, hashed))

    async def renewed(self, stored: str, hashed: str) -> str | None:
        """A new hash of a password whose stored hash has other costs; None if it is current."""
        return await self.hash(hashed) if self._hasher.check_needs_rehash(stored) else None

    def _verify(self, stored: str, hashed: str) -> bool:
        try:
            return self._hasher.verify(stored, hashed)
        except (VerificationError, InvalidHashError):
            return False

    async def _run(self, function: Callable[..., object], *arguments: str) -> object:
        if self._waiting >= MAX_WAITING:
            raise ResourceExhausted("too many logins at once: try again in a few seconds")
        self._waiting += 1
        try:
            loop = asyncio.get_running_loop()
            return await loop.run_in_executor(self._threads, function, *arguments)
        finally:
            self._waiting -= 1
