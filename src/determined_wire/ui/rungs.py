"""Messages of the rungs of a halving search."""

from __future__ import annotations

from collections.abc import Sequence

from determined_wire.proto import Double, DoubleValue, Int32, Message


class GetRungsRequest(Message, frozen=True):
    """Asks how far the trials of a search have come."""

    id: Int32 = 0


class SearchRung(Message, frozen=True):
    """One rung; `length` is in units of the time metric."""

    length: Double = 0
    training: Int32 = 0
    failed: Int32 = 0
    reached: Int32 = 0
    stopped: Int32 = 0
    best: DoubleValue | None = None
    passes: DoubleValue | None = None


class SearchBracket(Message, frozen=True):
    """One bracket, its shortest rung first; `trials` is how many it makes in all."""

    trials: Int32 = 0
    rungs: Sequence[SearchRung] = ()


class GetRungsResponse(Message, frozen=True):
    """Brackets in their order; none for a search without rungs."""

    metric: str = ""
    time_metric: str = ""
    smaller_is_better: bool = False
    brackets: Sequence[SearchBracket] = ()
