"""The request that the current task answers: users share what all requests need."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Coroutine
from contextvars import ContextVar
from typing import Any

Run = Callable[[int, Coroutine[Any, Any, None]], Awaitable[None]]


class AnsweredRequest:
    """A request of a user that a task answers."""

    __slots__ = ("_run", "connections", "task", "user_id")

    def __init__(self, user_id: int, run: Run) -> None:
        """`run` does a part of the answer within the shares of the user."""
        self.user_id = user_id
        self.connections = 0
        """To the database, that it holds."""
        self._run = run
        self.task = asyncio.current_task()

    def in_own_task(self, part: Coroutine[Any, Any, None]) -> Awaitable[None]:
        """A part of the answer for another task, as its only work."""
        return self._run(self.user_id, part)


_REQUEST: ContextVar[AnsweredRequest | None] = ContextVar("answered_request", default=None)


def begin(user_id: int, run: Run) -> None:
    """The current task answers a request of this user, and does nothing else."""
    _REQUEST.set(AnsweredRequest(user_id, run))


def current() -> AnsweredRequest | None:
    """The request that the current task itself answers, where its user has many.

    None in most tasks that it started: many of those serve everybody, whoever came first.
    """
    request = _REQUEST.get()
    return request if request is not None and request.task is asyncio.current_task() else None
