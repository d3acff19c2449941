"""Waits for the trials that a search creates at its start.

A client that creates an experiment reads, pauses or kills its trials next.
"""

from __future__ import annotations

import asyncio
import contextlib
from typing import TYPE_CHECKING

from determined_master.aggregates.trials import TRIAL
from determined_master.domain.trial.messages import Trial
from determined_master.engine.feed import Changed

if TYPE_CHECKING:
    from determined_master.engine import Engine

FIRST_TRIALS_S = 5.0
"""The experiment is stored by then; an answer without trials is better than an error."""


class FirstTrials:
    """Notices the creation of trials; begin to listen before the experiment is posted."""

    def __init__(self, engine: Engine, experiment_id: int) -> None:
        self._experiment_id = experiment_id
        self._created: set[int] = set()
        self._changed = asyncio.Event()
        self._stop = engine.feed.listen(TRIAL, self._notice)

    async def wait(self, count: int) -> None:
        """Return when `count` trials are stored, at the latest after `FIRST_TRIALS_S`."""
        with contextlib.suppress(TimeoutError):
            async with asyncio.timeout(FIRST_TRIALS_S):
                while len(self._created) < count:
                    self._changed.clear()
                    await self._changed.wait()

    def close(self) -> None:
        """Listen no more."""
        self._stop()

    def _notice(self, change: Changed[Trial]) -> None:
        if change.state.experiment_id == self._experiment_id:
            self._created.add(change.state.id)
            self._changed.set()
