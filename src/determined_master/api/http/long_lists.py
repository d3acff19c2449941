"""Lists of any length in an answer, read and written some items at a time.

Made in one piece, ten thousand trials held the event loop for a quarter of a second.
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Iterable, Sequence
from typing import TypeVar

import msgspec

from determined_master.api.http.protojson import encode, ready
from determined_wire.proto import Message

K = TypeVar("K")
M = TypeVar("M", bound=Message)


async def written(
    cls: type[M],
    keys: Sequence[K],
    at_once: int,
    items: Callable[[Sequence[K]], Awaitable[Iterable[M]]],
) -> list[M]:
    """The items of these keys as JSON, for a list of the answer.

    Each part is read separately, so an item that is deleted in between may be missing. The order
    is that of the keys.

    Args:
        cls: the class of the items.
        keys: by what `items` finds them.
        at_once: how many are made before others get their turn; their cost decides.
        items: reads some of them; `ready` ones stay unchanged.
    """
    shown: list[M] = []
    for start in range(0, len(keys), at_once):
        if start:
            await asyncio.sleep(0)  # reading need not wait, then nobody else has had a turn
        found = await items(keys[start : start + at_once])
        shown += [i if isinstance(i, msgspec.Raw) else ready(cls, encode(i)) for i in found]
    return shown
