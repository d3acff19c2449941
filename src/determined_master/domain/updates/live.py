"""Topics of the live channel, and the messages of its clients: their form and their bounds."""

from __future__ import annotations

import re
from typing import Literal

import msgspec

from determined_master.domain.errors import InvalidArgument

TopicKind = Literal[
    "exp", "run", "project", "metrics", "logs", "queue", "agents", "tasks", "models", "me"
]
MAX_ID = 2**31 - 1
MAX_MESSAGE = 16 * 1024
"""Characters of a message."""
MAX_NAME = 300
"""Characters of a topic's name."""
MAX_CURSOR = 8 * 1024
EVERY_PROJECT = 0
"""In place of a project's id: all projects that the caller sees."""
FORMS = (
    "exp:ID, run:ID, project:ID/runs, metrics:ID, logs:TASK, queue:POOL, agents, tasks, models, me"
)

_NUMBER = re.compile(r"0|[1-9][0-9]{0,9}")
_NUMBERED: dict[str, TopicKind] = {"exp": "exp", "run": "run", "metrics": "metrics"}
_NAMED: dict[str, TopicKind] = {"logs": "logs", "queue": "queue"}
_SINGLE: dict[str, TopicKind] = {
    "agents": "agents",
    "tasks": "tasks",
    "models": "models",
    "me": "me",
}


class Topic(msgspec.Struct, frozen=True):
    """One topic; `name` is repeated in its frames as the client wrote it."""

    name: str
    kind: TopicKind
    id: int = 0
    """Of an experiment, a trial or a project."""
    key: str = ""
    """The task or the resource pool."""


class Subscribe(msgspec.Struct, frozen=True):
    """A client wants a topic, from the position of an earlier frame on if it names one."""

    topic: str
    cursor: str = ""


class Unsubscribe(msgspec.Struct, frozen=True):
    topic: str


class Ping(msgspec.Struct, frozen=True):
    """A client asks for a heartbeat."""


LiveRequest = Subscribe | Unsubscribe | Ping


class _Message(msgspec.Struct, frozen=True):
    op: str
    topic: str = ""
    cursor: str | None = None


def read_request(text: str) -> LiveRequest:
    """A client's message.

    Raises:
        InvalidArgument: it is malformed or too large, or its `op` is unknown.
    """
    if len(text) > MAX_MESSAGE:
        raise InvalidArgument(
            f"the message has {len(text)} characters: send at most {MAX_MESSAGE}"
        )
    try:
        message = msgspec.json.decode(text, type=_Message)
    except (msgspec.MsgspecError, UnicodeError, RecursionError) as error:
        raise InvalidArgument(f"the message is malformed: {error}") from None
    match message.op:
        case "subscribe":
            return Subscribe(message.topic, message.cursor or "")
        case "unsubscribe":
            return Unsubscribe(message.topic)
        case "ping":
            return Ping()
    raise InvalidArgument(f"op is {message.op[:40]!r}: it must be subscribe, unsubscribe or ping")


def read_topic(name: str) -> Topic:
    """The topic of a name.

    Raises:
        InvalidArgument: no topic has a name of this form.
    """
    found = _find_topic(name) if len(name) <= MAX_NAME and name.isprintable() else None
    if found is None:
        raise InvalidArgument(f"{name[:80]!r} is no topic: the topics are {FORMS}")
    return found


def _find_topic(name: str) -> Topic | None:
    if name in _SINGLE:
        return Topic(name, _SINGLE[name])
    word, _, rest = name.partition(":")
    if word in _NUMBERED:
        id = _id_of(rest)
        return Topic(name, _NUMBERED[word], id) if id else None
    if word in _NAMED:
        return Topic(name, _NAMED[word], key=rest) if rest else None
    if word == "project" and rest.endswith("/runs"):
        text = rest.removesuffix("/runs")
        id = EVERY_PROJECT if text == "all" else _id_of(text)
        return None if id is None else Topic(name, "project", id)
    return None


def _id_of(text: str) -> int | None:
    if _NUMBER.fullmatch(text) is None or int(text) > MAX_ID:
        return None
    return int(text)
