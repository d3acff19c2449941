"""Attempts of trials, for those who look for what happened to a trial."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from determined_master.domain.access import rules as access
from determined_master.domain.errors import InvalidArgument
from determined_master.store import causes
from determined_master.store.tasks import attempts as rows

if TYPE_CHECKING:
    from determined_master.domain.access.rules import Caller
    from determined_master.records.tasks import AttemptRow, ListedFailure
    from determined_master.store.db import Database

MAX_ATTEMPTS = 50
"""Of one answer: a trial that was preempted a thousand times has as many."""


MAX_FAILURES = 500
"""Rows of a list that are asked about at once."""


class Attempts:
    """The starts of trials."""

    def __init__(self, db: Database) -> None:
        self._db = db

    async def of_trial(self, caller: Caller, trial_id: int) -> Sequence[AttemptRow]:
        """The latest `MAX_ATTEMPTS` of a trial, the newest first; each has the number of all."""
        access.may(caller, "read", "experiment")
        async with self._db.acquire() as conn:
            return await rows.list_attempts(conn, trial_id, MAX_ATTEMPTS)

    async def failures(
        self, caller: Caller, trial_ids: Sequence[int], experiment_ids: Sequence[int]
    ) -> tuple[Sequence[ListedFailure], Sequence[ListedFailure]]:
        """Why those of them failed that did and that the caller sees: trials, experiments.

        Raises:
            InvalidArgument: more than `MAX_FAILURES` of either.
        """
        for name, ids in (("trialIds", trial_ids), ("experimentIds", experiment_ids)):
            if len(ids) > MAX_FAILURES:
                raise InvalidArgument(f"{len(ids)} {name}: ask for at most {MAX_FAILURES} at once")
        among = access.visible(caller, "experiment")
        async with self._db.acquire() as conn:
            trials = await causes.list_failures(conn, "trial", trial_ids, among=among)
            experiments = await causes.list_failures(
                conn, "experiment", experiment_ids, among=among
            )
        return trials, experiments
