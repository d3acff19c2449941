"""A clock that a test puts forward."""

from __future__ import annotations

from datetime import datetime, timedelta

from determined_master import clock


class Hours:
    """The time now, and what has gone since beside it."""

    def __init__(self) -> None:
        self.gone = timedelta(0)

    def __call__(self) -> datetime:
        return clock.now() + self.gone
