"""The memory that answers of a user take until they are sent.

A list of 100 MiB is in memory as a whole, and a slow reader keeps it there. Fifty connections of
one user could take more than the machine has.
"""

from __future__ import annotations

import contextlib
from collections import Counter
from collections.abc import Iterator
from contextvars import ContextVar

from determined_master.domain.errors import ResourceExhausted

MIB = 1024 * 1024
MAX_BYTES = 256 * MIB
"""Of one user at the same time."""


class AnswerMemory:
    """Bytes by user."""

    def __init__(self) -> None:
        self._bytes: Counter[int] = Counter()

    @contextlib.contextmanager
    def of(self, user_id: int) -> Iterator[None]:
        """Count what an answer to a user holds in the block, and give it back at its end."""
        answer = _Answer(self._bytes, user_id)
        token = _ANSWER.set(answer)
        try:
            yield
        finally:
            _ANSWER.reset(token)
            answer.end()


class _Answer:
    """What one answer holds."""

    def __init__(self, total: Counter[int], user_id: int) -> None:
        self._total = total
        self._user_id = user_id
        self._size = 0

    def hold(self, size: int) -> None:
        """Raises ResourceExhausted: the answers of the user would have too much."""
        total = self._total[self._user_id] + size
        if total > MAX_BYTES:
            raise ResourceExhausted(
                f"your answers that are not sent yet would take {total} bytes of memory, and may "
                f"take {MAX_BYTES}: wait for the others, or ask for fewer items with limit and "
                "offset"
            )
        self._total[self._user_id] = total
        self._size += size

    def end(self) -> None:
        """Give all back."""
        self._total[self._user_id] -= self._size
        if not self._total[self._user_id]:
            del self._total[self._user_id]


_ANSWER: ContextVar[_Answer | None] = ContextVar("answer", default=None)


def hold(size: int) -> None:
    """Count bytes of the answer that the current task makes, until it is sent.

    Raises:
        ResourceExhausted: the answers of its user take too much.
    """
    answer = _ANSWER.get()
    if answer is not None:
        answer.hold(size)
