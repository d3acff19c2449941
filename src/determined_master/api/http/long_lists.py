"""Lists of any length in an answer, read and written some items at a time.

Made in one piece, ten thousand trials held the event loop for a quarter of a second; so did 25
checkpoints of 100,000 files each. So the size of the first items decides how many follow at once.
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Iterable, Sequence
from typing import TypeVar

import msgspec

from determined_master.api.http.protojson import encode, ready
from determined_master.domain.errors import InvalidArgument
from determined_master.ports import answer_memory
from determined_master.services.broken_rows import sound_rows
from determined_wire.proto import Message

K = TypeVar("K")
M = TypeVar("M", bound=Message)


FIRST = 8
"""Items that are read before their size is known."""
PART_BYTES = 256 * 1024
"""Of JSON that are made before others get their turn: some milliseconds."""
MAX_BYTES = 128 * 1024 * 1024
"""Of JSON in one list, which is in memory as a whole."""


async def written(
    cls: type[M],
    keys: Sequence[K],
    at_once: int,
    items: Callable[[Sequence[K]], Awaitable[Iterable[M]]],
) -> list[M]:
    """The items of these keys as JSON, for a list of the answer.

    Each part is read separately, so an item that is deleted in between may be missing, as is one
    whose stored data cannot be shown. The order is that of the keys.

    Args:
        cls: the class of the items.
        keys: by what `items` finds them.
        at_once: how many small ones are made before others get their turn.
        items: reads some of them; `ready` ones stay unchanged.

    Raises:
        InvalidArgument: they have more bytes than an answer may have.
        ResourceExhausted: the answers of the caller take too much memory.
    """

    async def texts(some: Sequence[K]) -> list[bytes]:
        made: list[bytes] = []
        since = 0
        for item in await items(some):
            made.append(bytes(item) if isinstance(item, msgspec.Raw) else encode(item))
            since += len(made[-1])
            if since > PART_BYTES:
                since = 0
                await asyncio.sleep(0)
        return made

    shown: list[M] = []
    size = start = 0
    count = min(FIRST, at_once)
    while start < len(keys):
        if start:
            await asyncio.sleep(0)  # reading need not wait, then nobody else has had a turn
        for text in await sound_rows(keys[start : start + count], texts):
            size += len(text)
            answer_memory.hold(len(text))
            shown.append(ready(cls, text))
        start = min(start + count, len(keys))
        if size > MAX_BYTES and start < len(keys):
            raise InvalidArgument(
                f"the first {start} of {len(keys)} items have {size} bytes, an answer has at most "
                f"{MAX_BYTES}: ask for fewer at once, with limit and offset"
            )
        count = min(at_once, max(1, PART_BYTES * start // max(1, size)))
    return shown
