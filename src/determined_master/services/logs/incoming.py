"""Lines as agents and clients send them, and the rows that are stored of them."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from datetime import UTC, datetime, timedelta
from typing import TYPE_CHECKING, Any

import msgspec

from determined_master.domain.errors import InvalidArgument
from determined_master.domain.log_lines import split_prefix, storable

if TYPE_CHECKING:
    from determined_wire.agent_link import LogBatch

PIECE_LINES = 1000
"""How many lines are converted at once: an agent's batch may have 70,000 empty ones."""
PIECE_CHARACTERS = 1024 * 1024
"""How much of them is: to write more holds the event loop."""
MAX_LINE_CHARACTERS = 64 * 1024
"""A longer line is stored as several, as agents cut the output of tasks: a reader gets a thousand
lines at once."""
EPOCH = datetime(1970, 1, 1, tzinfo=UTC)

Row = tuple[Any, ...]
"""A line to store, in the order of `store.task_logs.COPY_COLUMNS`."""


class PostedLine(msgspec.Struct, frozen=True, kw_only=True):
    """One line as a client posts it."""

    task_id: str
    log: str
    at: datetime | None = None
    allocation_id: str | None = None
    agent_id: str | None = None
    container_id: str | None = None
    rank_id: int | None = None
    level: int = 0
    source: str | None = None
    stdtype: str | None = None


def rows_of_batch(agent_id: str, batch: LogBatch) -> Iterator[Row]:
    """The lines of an agent's batch, in order."""
    texts = storable(batch.text).split("\n") if batch.spans else []
    ids = (batch.task_id, batch.allocation_id, agent_id, batch.container_id)
    start = 0
    for span in batch.spans:
        at = EPOCH + timedelta(microseconds=span.at_us)
        for text in texts[start : start + span.count]:
            rank, level, log = split_prefix(text)
            yield (*ids, rank, at, level, span.source, span.stdtype, log + "\n")
        start += span.count


def in_pieces(lines: Iterable[Row]) -> Iterator[list[Row]]:
    """Lines in lists of `PIECE_LINES` or `PIECE_CHARACTERS`, each made when it is needed."""
    piece: list[Row] = []
    size = 0
    for line in lines:
        piece.append(line)
        size += len(line[-1])
        if len(piece) == PIECE_LINES or size >= PIECE_CHARACTERS:
            yield piece
            piece, size = [], 0
    if piece:
        yield piece


def is_one_piece(lines: Sequence[PostedLine]) -> bool:
    """Whether the rows of these lines are written by one statement."""
    characters = sum(len(line.log) for line in lines)
    # Some characters are stored as two.
    return len(lines) <= PIECE_LINES and 2 * characters < PIECE_CHARACTERS


def microseconds(at: datetime) -> int:
    """Since 1970."""
    return (at - EPOCH) // timedelta(microseconds=1)


def rows_of_post(line: PostedLine, now: datetime) -> Iterator[Row]:
    """A client's line, a long one in several; one without a time has that of its arrival.

    Raises:
        InvalidArgument: its time has no place in the calendar of UTC.
    """
    ids = (line.task_id, line.allocation_id, line.agent_id, line.container_id, line.rank_id)
    facts = (*ids, _moment(line.at or now), line.level, line.source, line.stdtype)
    if len(line.log) <= MAX_LINE_CHARACTERS:
        yield (*facts, storable(line.log))
        return
    for start in range(0, len(line.log), MAX_LINE_CHARACTERS):
        part = line.log[start : start + MAX_LINE_CHARACTERS]
        yield (*facts, storable(part if part.endswith("\n") else part + "\n"))


def _moment(at: datetime) -> datetime:
    try:
        return at.astimezone(UTC)
    except OverflowError:
        raise InvalidArgument(
            f"the time {at.isoformat()} of a log line is not within the years 1 to 9999 in UTC"
        ) from None
