"""Exponential back-off: how long to wait after failures in a row. PURE.

Everything that is tried again asks this class. The client, which imports nothing of ours, has its
own form in `determined/common/_backoff.py`; one set of properties tests both.
"""

from __future__ import annotations

import itertools
from collections.abc import Iterator
from datetime import timedelta
from typing import Generic, TypeVar

import msgspec

Pause = TypeVar("Pause", float, timedelta)
MAX_DOUBLINGS = 30
"""Enough for any bound, and small enough for a float and a timedelta."""


class Backoff(msgspec.Struct, Generic[Pause], frozen=True):
    """The first pause, which doubles after each failure up to the longest one.

    Args:
        jitter: the part of each pause that is random, from 0 to 1. It keeps those that failed
            together from trying together.
    """

    first: Pause
    longest: Pause
    jitter: float = 0.0

    def after(self, failures: int, random: float = 1.0) -> Pause:
        """The pause after a number of failures in a row, at least 1.

        Args:
            random: a number in [0, 1); needed with a jitter only.
        """
        doublings = min(max(failures - 1, 0), MAX_DOUBLINGS)
        pause: Pause = min(self.first * 2**doublings, self.longest)
        return pause * (1.0 - self.jitter * (1.0 - random))

    def pauses(self) -> Iterator[Pause]:
        """The pause after the first failure, after the second, and so on, without an end."""
        return map(self.after, itertools.count(1))
