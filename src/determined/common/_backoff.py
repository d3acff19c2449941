"""Exponential back-off: how long to wait after failures in a row.

The form of `determined_wire/backoff.py` for the client, which imports nothing of ours; one set of
properties tests both.
"""

import itertools
from typing import Iterator, NamedTuple

_MAX_DOUBLINGS = 30


class Backoff(NamedTuple):
    """The first pause in seconds, which doubles after each failure up to the longest one."""

    first: float
    longest: float

    def after(self, failures: int) -> float:
        """The pause after a number of failures in a row, at least 1."""
        doublings = min(max(failures - 1, 0), _MAX_DOUBLINGS)
        return float(min(self.first * 2**doublings, self.longest))

    def pauses(self) -> Iterator[float]:
        """The pause after the first failure, after the second, and so on, without an end."""
        return map(self.after, itertools.count(1))
