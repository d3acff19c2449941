"""Messages of stories."""

from __future__ import annotations

from collections.abc import Sequence

from determined_wire.proto import Int32, Message, Timestamp


class GetItemsRequest(Message, frozen=True):
    """Asks for a story after some item."""

    id: str = ""
    after: str = ""
    limit: Int32 = 0


class StoryItem(Message, frozen=True):
    """One event in plain words; `level` is `info`, `warning` or `error`."""

    cursor: str = ""
    at: Timestamp | None = None
    kind: str = ""
    subject: str = ""
    text: str = ""
    trial_id: Int32 = 0
    cause: str = ""
    level: str = ""


class GetItemsResponse(Message, frozen=True):
    """Items in the order of time; `next` is the cursor to continue from."""

    items: Sequence[StoryItem] = ()
    next: str = ""
    has_more: bool = False
    reason: str = ""
