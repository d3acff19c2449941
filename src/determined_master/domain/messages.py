"""Bases of events, effects and states, and the effects that every aggregate may order.

All are stored, so they only grow: new fields have defaults, and tags are never reused.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, get_args

import msgspec


class Event(msgspec.Struct, frozen=True, omit_defaults=True, tag_field="event", tag=True):
    """A fact about one aggregate."""


class GivenUp(Event, frozen=True):
    """An effect was given up after its last retry. Each aggregate has an event of this form.

    The fields that it adds name the subject of the effect.
    """

    effect: str
    error: str


class Effect(msgspec.Struct, frozen=True, omit_defaults=True, tag_field="effect", tag=True):
    """An order of one aggregate to the outside world.

    Orders of one aggregate are carried out one after the other, except that those about different
    things, named by `about`, do not wait for each other.
    """

    @property
    def about(self) -> str | None:
        """The one thing that the order concerns; None orders it with all others."""
        return None

    @property
    def lane(self) -> str:
        """Orders of different lanes are never ordered with each other, not even by `about`."""
        return ""


class Record(msgspec.Struct, frozen=True, omit_defaults=True, tag_field="record", tag=True):
    """A row outside the state, stored in the same transaction and never handed out."""


class State(msgspec.Struct, frozen=True, omit_defaults=True):
    """The stored state of one aggregate; at most 10 KiB."""


class SetTimer(Effect, frozen=True, tag="set_timer"):
    """Post `event` (its JSON) to this aggregate after `after_s` seconds.

    Setting a timer of the same name again replaces it.
    """

    name: str
    after_s: float
    event: msgspec.Raw


class CancelTimer(Effect, frozen=True, tag="cancel_timer"):
    """Remove the timer of that name, if there is one."""

    name: str


class WriteTaskLog(Record, frozen=True, tag="write_task_log"):
    """A line of the master in a task's log; stored with the event that caused it."""

    task_id: str
    text: str
    level: str = "INFO"


def by_tag(union: Any) -> Mapping[str, type[Any]]:
    """The types of a union by their stored names."""
    return {str(member.__struct_config__.tag): member for member in get_args(union)}


def timer(name: str, after_s: float, event: Event) -> SetTimer:
    """A `SetTimer` for an event of the caller's own kind."""
    return SetTimer(name=name, after_s=after_s, event=msgspec.Raw(msgspec.json.encode(event)))
