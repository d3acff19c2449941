"""Limits on guessing passwords: failures by account, address and device, and a fair queue."""

from __future__ import annotations

import asyncio
from collections import OrderedDict, deque
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

from determined_master import clock
from determined_master.domain.errors import ResourceExhausted

WINDOW_S = 60.0
MAX_FAILURES = 10
"""In a window, by account, address and place; more are refused before the password is hashed."""
MAX_CHECKS = 4
"""Checks of one address at the same time; the others of that address wait."""
MAX_STRANGERS = 2
"""Checks of logins from addresses that are new for their account, at the same time."""
MAX_WAITING = 64
"""Logins of one address that may wait."""
MAX_KEYS = 20_000


class TooManyLogins(ResourceExhausted):
    """Too many failed logins; `retry_after_s` says when the next one is checked."""

    def __init__(self, what: str, retry_after_s: float) -> None:
        self.retry_after_s = max(1, round(retry_after_s))
        super().__init__(
            f"too many failed logins {what}: try again in {self.retry_after_s} seconds"
        )


class LoginLimits:
    """Counts failed logins in memory; a restart of the master forgets them.

    An account has *places* from which it has logged in before: its devices, and its addresses. A
    login from a place is limited by the failures of that account at that place alone. So guesses
    of others lock it out neither at a shared address, such as that of a reverse proxy, nor when
    they are of its own account elsewhere.
    """

    def __init__(self) -> None:
        self._failures: OrderedDict[str, deque[float]] = OrderedDict()
        self._known: OrderedDict[tuple[str, str], None] = OrderedDict()
        self._queues: dict[str, _Queue] = {}
        self._strangers = _FairGate(MAX_STRANGERS)

    def check(self, username: str, address: str, device: str = "") -> None:
        """Return if a password of this account may be checked now.

        Args:
            username: the account.
            address: the client's.
            device: number of the client's device, if it is one of the account's.

        Raises:
            TooManyLogins: there were too many failures.
        """
        place = self._place(username, address, device)
        if place is not None:
            self._check(place, f"of user {username!r} from here")
            return
        self._check(f"address:{address}", f"from {address or 'this address'}")
        self._check(f"account:{username}", f"of user {username!r}")

    def record(self, username: str, address: str, device: str = "", *, is_right: bool) -> None:
        """Record the result of a check."""
        if is_right:
            self._known[username, address] = None
            _shorten(self._known)
            return
        place = self._place(username, address, device)
        strange = (f"account:{username}", f"address:{address}")
        for key in strange if place is None else (place,):
            found = self._failures.setdefault(key, deque(maxlen=MAX_FAILURES))
            found.append(clock.monotonic_s())
            self._failures.move_to_end(key)
        _shorten(self._failures)

    @asynccontextmanager
    async def turn(self, username: str, address: str, device: str = "") -> AsyncIterator[None]:
        """Wait for the turn of one login.

        Logins of an account from one of its places do not wait for the guesses of others. The
        others take turns by address.

        Raises:
            ResourceExhausted: too many of that place, or address, wait.
        """
        place = self._place(username, address, device)
        key = place or f"address:{address}"
        queue = self._queues.setdefault(key, _Queue())
        if queue.waiting >= MAX_WAITING:
            raise ResourceExhausted("too many logins at once: try again in a few seconds")
        queue.waiting += 1
        try:
            async with queue.checks:
                if place is not None:
                    yield
                    return
                await self._strangers.enter(address)
                try:
                    yield
                finally:
                    self._strangers.leave()
        finally:
            queue.waiting -= 1
            if queue.waiting == 0:
                self._queues.pop(key, None)

    def _place(self, username: str, address: str, device: str) -> str | None:
        """The key of a place of an account; None for a client that is new to the account."""
        if device:
            return f"device:{username}:{device}"
        return f"place:{username}:{address}" if (username, address) in self._known else None

    def _check(self, key: str, what: str) -> None:
        found = self._failures.get(key)
        if found is None or len(found) < MAX_FAILURES:
            return
        left = found[0] + WINDOW_S - clock.monotonic_s()
        if left > 0:
            raise TooManyLogins(what, left)


class _FairGate:
    """Admits a number of logins at once; addresses that wait take turns."""

    def __init__(self, capacity: int) -> None:
        self._free = capacity
        self._waiting: OrderedDict[str, deque[asyncio.Future[None]]] = OrderedDict()

    async def enter(self, address: str) -> None:
        """Wait for a place; `leave` gives it back."""
        if self._free:
            self._free -= 1
            return
        place = asyncio.get_running_loop().create_future()
        self._waiting.setdefault(address, deque()).append(place)
        try:
            await place
        except asyncio.CancelledError:
            if place.done() and not place.cancelled():
                self.leave()
            raise

    def leave(self) -> None:
        """Give the place to the next address."""
        while self._waiting:
            address, places = self._waiting.popitem(last=False)
            place = places.popleft()
            if places:
                self._waiting[address] = places
            if not place.done():
                place.set_result(None)
                return
        self._free += 1


class _Queue:
    def __init__(self) -> None:
        self.checks = asyncio.Semaphore(MAX_CHECKS)
        self.waiting = 0


def _shorten(kept: OrderedDict[str, deque[float]] | OrderedDict[tuple[str, str], None]) -> None:
    while len(kept) > MAX_KEYS:
        kept.popitem(last=False)
