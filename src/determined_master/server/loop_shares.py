"""Shares of users in the event loop: requests of one user delay those of others little.

Each piece of work between two waits of a request is short. With two hundred connections one user
has two hundred pieces ready at the same time, and the requests of all others waited behind them
for seconds. So the pieces of one user take at most `SHARE_S` of each pass of the loop, and one
piece more; the others wait for the next pass. A user who is alone waits for nobody, because passes
follow each other at once.

To measure each piece costs some microseconds. So the pieces of a user are measured while all of
their requests together can fill a share, and otherwise those of some requests.
"""

from __future__ import annotations

import asyncio
import types
from collections import deque
from collections.abc import Awaitable, Coroutine, Generator
from typing import Any, TypeVar

from determined_master import clock
from determined_master.ports import answered_request

T = TypeVar("T")

SHARE_S = 0.002
"""Of a user in one pass of the loop."""
FREE_REQUESTS = 8
"""Requests of a user at the same time that are not looked at: fewer cannot take much."""
SAMPLED = 8
"""Of this number of requests one is measured in any case."""
_LONGER, _SHORTER = 0.2, 0.02
"""The weight of the last piece in the mean; long ones count more, because others wait for them."""


class LoopShares:
    """The users whose requests are being answered."""

    def __init__(self) -> None:
        self._users: dict[int, _User] = {}
        self._active: list[_User] = []
        """Those who took time in this pass of the loop, or whose pieces wait."""

    async def run(self, user_id: int, answer: Coroutine[Any, Any, T]) -> T:
        """Answer a request; pieces of that wait while the user has had their share.

        The current task does nothing else from here to its end.
        """
        user = self._users.get(user_id)
        if user is None:
            user = self._users[user_id] = _User(self)
        user.requests += 1
        try:
            if user.requests <= FREE_REQUESTS:
                return await answer
            answered_request.begin(user_id, self.run)
            return await (_in_turns(user, answer) if user.is_measured() else answer)
        finally:
            user.requests -= 1
            if not user.requests:
                self._users.pop(user_id, None)

    def activate(self, user: _User) -> None:
        """Begin a share for a user that ends with this pass of the loop."""
        if not self._active:
            asyncio.get_running_loop().call_soon(self._begin_pass)
        self._active.append(user)

    def _begin_pass(self) -> None:
        active, self._active = self._active, []
        for user in active:
            user.begin_pass()


class _User:
    """The time of one user in the current pass of the loop, and what waits for the next."""

    def __init__(self, shares: LoopShares) -> None:
        self.requests = 0
        self._shares = shares
        self._count = -1  # the first one is measured
        self._is_active = False
        self._spent_s = 0.0
        self._mean_s = 0.0
        """Of a piece."""
        self._waiting: deque[asyncio.Future[None]] = deque()

    def is_measured(self) -> bool:
        """Whether the next request is measured."""
        self._count += 1
        return self.requests * self._mean_s > SHARE_S or not self._count % SAMPLED

    def has_to_wait(self) -> bool:
        """Whether the next piece is one of the next pass."""
        return bool(self._waiting) or self._spent_s >= SHARE_S

    def wait(self) -> Awaitable[None]:
        """The turn of a piece."""
        turn: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        self._waiting.append(turn)
        self._activate()
        return turn

    def add(self, seconds: float) -> None:
        """Count the time of a piece."""
        self._spent_s += seconds
        difference_s = seconds - self._mean_s
        self._mean_s += difference_s * (_LONGER if difference_s > 0 else _SHORTER)
        self._activate()

    def begin_pass(self) -> None:
        """Let as many pieces run as the share probably allows, at least one."""
        self._is_active = False
        self._spent_s = 0.0
        left_s = SHARE_S
        while self._waiting and left_s > 0:
            turn = self._waiting.popleft()
            if not turn.done():
                turn.set_result(None)
                left_s -= self._mean_s
        if self._waiting:
            self._activate()

    def _activate(self) -> None:
        if not self._is_active:
            self._is_active = True
            self._shares.activate(self)


@types.coroutine
def _in_turns(user: _User, answer: Coroutine[Any, Any, T]) -> Generator[Any, Any, T]:
    """Run a coroutine piece by piece; what it waits for is waited for here."""
    error: BaseException | None = None
    while True:
        if user.has_to_wait():
            try:
                yield from user.wait().__await__()
            except BaseException as cancellation:
                error = error or cancellation
        began_s = clock.monotonic_s()
        try:
            awaited = answer.send(None) if error is None else answer.throw(error)
        except StopIteration as end:
            result: T = end.value
            return result
        finally:
            user.add(clock.monotonic_s() - began_s)
        error = None
        try:
            yield awaited
        except BaseException as failure:
            error = failure
