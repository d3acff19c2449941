"""Messages of stories."""

from __future__ import annotations

from collections.abc import Sequence

from determined_wire.proto import Int32, Int64, Message, Timestamp


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


class FailureCause(Message, frozen=True):
    """Why an attempt failed; `text` is the sentence. `logPosition` is the id of a log line."""

    text: str = ""
    kind: str = ""
    type: str = ""
    message: str = ""
    file: str = ""
    line: Int32 = 0
    log_position: Int64 = 0
    rank: Int32 = 0
    exit_code: Int32 | None = None
    task_id: str = ""
    allocation_id: str = ""
    trial_id: Int32 = 0


class GetItemsResponse(Message, frozen=True):
    """Items in the order of time; `next` is the cursor to continue from."""

    items: Sequence[StoryItem] = ()
    next: str = ""
    has_more: bool = False
    reason: str = ""
    failure: FailureCause | None = None
