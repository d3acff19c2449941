"""Messages of the events of the cluster."""

from __future__ import annotations

from collections.abc import Sequence

from determined_wire.proto import Int32, Message, Timestamp


class GetEventsRequest(Message, frozen=True):
    """Asks for events before some event; `kinds` and `userId` narrow them."""

    kinds: Sequence[str] = ()
    user_id: Int32 = 0
    acts_only: bool = False
    before: str = ""
    since: Timestamp | None = None
    limit: Int32 = 0


class EventThing(Message, frozen=True):
    """The thing of an event; its name is empty after its deletion."""

    kind: str = ""
    id: str = ""
    name: str = ""
    experiment_id: Int32 = 0
    trial_id: Int32 = 0
    workspace_id: Int32 = 0


class ClusterEvent(Message, frozen=True):
    """One event in plain words; `userId` is 0 where the master itself acted."""

    cursor: str = ""
    at: Timestamp | None = None
    kind: str = ""
    text: str = ""
    level: str = ""
    user_id: Int32 = 0
    username: str = ""
    thing: EventThing | None = None


class GetEventsResponse(Message, frozen=True):
    """Events, the newest first; `next` is the cursor to continue from, `searchedTo` how far back
    the master has looked."""

    events: Sequence[ClusterEvent] = ()
    next: str = ""
    has_more: bool = False
    searched_to: Timestamp | None = None
