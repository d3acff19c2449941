"""What keeps a search finite and its progress within 0 and 1."""

from __future__ import annotations

import math

MAX_CREATED = 1000
"""Trials that one decision makes at most; the rest comes with the next ones. Without a bound a
search without a limit would make all its trials in one transaction."""

MAX_RUNGS = 10_000
"""Rungs of all brackets of a search: its brackets are walked at every event."""


def replacements(trials: int) -> int:
    """How many invalid trials a search of so many trials replaces.

    A space without any valid point would otherwise be tried for ever. Past the bound an invalid
    trial counts like any other.
    """
    return 100 + 10 * trials


def unit_interval(progress: float) -> float:
    """Progress within 0 and 1; what is not a finite number counts as none."""
    return min(max(progress, 0.0), 1.0) if math.isfinite(progress) else 0.0
