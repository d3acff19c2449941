"""The decision of a search method: trials to create and to stop, rows to add, its new state."""

from __future__ import annotations

import math
from typing import Any

import msgspec

from determined_master.domain.search.records import SearchRecord


class Create(msgspec.Struct, frozen=True, tag="create", tag_field="action"):
    """Run a trial with these hyperparameters; `seed` is in [0, 2^31)."""

    request_id: str
    seed: int
    hparams: dict[str, Any]


class Stop(msgspec.Struct, frozen=True, tag="stop", tag_field="action"):
    """Ask a trial to save its work and exit; it then ends `clean`."""

    request_id: str


class SearchDecision(msgspec.Struct, frozen=True):
    """The result of one event.

    `state` is the method's whole new state as plain JSON values, below 2 KiB whatever the number
    of trials; `records` are rows for the caller to store and to apply to the `SearchMemory`. With
    `has_more` there are further trials to create that were too many for one decision: the caller
    calls `create_more` once most of those that exist have slots.
    """

    state: Any
    actions: tuple[Create | Stop, ...] = ()
    records: tuple[SearchRecord, ...] = ()
    has_more: bool = False


class TrialCount(msgspec.Struct, frozen=True):
    """A number of trials that train this long, if each trial runs as far as the search lets it.

    `value` is in units of the time metric `unit`; both are None for "as long as it takes".
    """

    count: int
    unit: str | None = None
    value: int | None = None


class SearchError(Exception):
    """The search cannot start or continue; the text is for its user."""


MAX_CREATED = 100
"""Most trials that one decision creates; later decisions create the rest, as trials get slots.
Without the limit, an unlimited search would create all its trials in one transaction."""


def replacements(trials: int) -> int:
    """How many invalid trials a search of `trials` trials replaces.

    A space without any valid point would otherwise be tried forever. Beyond the limit an invalid
    trial counts like any other.
    """
    return 100 + 10 * trials


def unit_interval(progress: float) -> float:
    """Progress within 0 and 1; a value that is not a finite number counts as 0."""
    return min(max(progress, 0.0), 1.0) if math.isfinite(progress) else 0.0
