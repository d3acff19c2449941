"""Messages of a client that subscribes to entities: their form and their bounds."""

from __future__ import annotations

import re
from collections.abc import Collection, Iterator, Mapping
from itertools import pairwise
from typing import Literal, get_args

import msgspec

from determined_master.domain.errors import InvalidArgument

EntityKind = Literal["project", "model", "modelversion"]
KINDS: tuple[EntityKind, ...] = get_args(EntityKind)
"""In the order in which they are sent."""
FILTERS: Mapping[EntityKind, tuple[str, ...]] = {
    "project": ("workspace_ids", "project_ids"),
    "model": ("workspace_ids", "model_ids", "user_ids"),
    "modelversion": ("model_ids", "model_version_ids", "user_ids"),
}
MAX_IDS = 100_000
"""Ids that one message may name."""
MAX_ID = 2**31 - 1
MAX_MESSAGE = 2**20
"""Characters of a message."""


_RANGE = re.compile(r"([0-9]{1,10})(?:-([0-9]{1,10}))?")


class EntityFilter(msgspec.Struct, frozen=True):
    """The entities of one kind that a client wants: those that have any of these ids."""

    filters: dict[str, list[int]]
    """By the names in `FILTERS`."""
    since: int
    """Older changes of entities that the client knows are not sent."""


class Subscription(msgspec.Struct, frozen=True):
    """One message of a client; each replaces the one before."""

    sync_id: str
    wanted: dict[EntityKind, EntityFilter]
    known: dict[EntityKind, set[int]]


class _Message(msgspec.Struct, frozen=True):
    sync_id: str = ""
    known: dict[str, str] = {}
    subscribe: dict[str, dict[str, int | list[int] | None] | None] = {}


def read_message(text: str) -> Subscription:
    """A client's message.

    Raises:
        InvalidArgument: it is malformed, too large, or wants a kind without naming any id.
    """
    if len(text) > MAX_MESSAGE:
        raise InvalidArgument(f"a message may have at most {MAX_MESSAGE} characters")
    try:
        message = msgspec.json.decode(text, type=_Message)
    except (msgspec.MsgspecError, RecursionError) as error:
        raise InvalidArgument(f"the message is malformed: {error}") from None
    unknown = {*message.subscribe, *message.known} - {f"{kind}s" for kind in KINDS}
    if unknown:
        raise InvalidArgument(f"there is no kind of entities named {sorted(unknown)[0]!r}")
    wanted = {}
    for kind in KINDS:
        given = message.subscribe.get(f"{kind}s")
        if given is not None:
            wanted[kind] = _wanted(kind, given)
    known = {kind: read_ids(message.known.get(f"{kind}s", "")) for kind in KINDS}
    return Subscription(message.sync_id, wanted, known)


def _wanted(kind: EntityKind, given: Mapping[str, int | list[int] | None]) -> EntityFilter:
    since = given.get("since") or 0
    if not isinstance(since, int):
        raise InvalidArgument("since must be a number")
    filters = {}
    for name in FILTERS[kind]:
        ids = given.get(name) or []
        if isinstance(ids, int) or not all(0 <= id <= MAX_ID for id in ids):
            raise InvalidArgument(f"{name} must be a list of ids")
        filters[name] = ids
    count = sum(map(len, filters.values()))
    if not 0 < count <= MAX_IDS:
        raise InvalidArgument(f"{kind}s must name 1 to {MAX_IDS} ids; found {count}")
    return EntityFilter(filters, since)


def read_ids(text: str) -> set[int]:
    """The ids in a list of numbers and ranges, such as `1-3,9`.

    Raises:
        InvalidArgument: it is none, or names too many.
    """
    found: set[int] = set()
    for part in filter(None, text.split(",")):
        match = _RANGE.fullmatch(part)
        if match is None:
            raise InvalidArgument(f"{part[:40]!r} is neither an id nor a range of ids")
        begin, end = int(match[1]), int(match[2] or match[1])
        if not begin <= end <= MAX_ID or len(found) + end - begin >= MAX_IDS:
            raise InvalidArgument(f"{part} is not a range of at most {MAX_IDS} ids")
        found.update(range(begin, end + 1))
    return found


def write_ids(ids: Collection[int]) -> str:
    """The shortest list of numbers and ranges that names these ids."""
    return ",".join(_ranges(sorted(ids)))


def _ranges(ids: list[int]) -> Iterator[str]:
    starts = [a for b, a in pairwise([None, *ids]) if a is not None and b != a - 1]
    ends = [a for a, b in pairwise([*ids, None]) if a is not None and b != a + 1]
    for start, end in zip(starts, ends, strict=True):
        yield str(start) if start == end else f"{start}-{end}"
