"""Random search, and the search of a single trial."""

from __future__ import annotations

from typing import Any

from determined_master.domain.config.sections.hyperparameters import HyperparameterSpace
from determined_master.domain.search.decision import (
    MAX_CREATED,
    SearchDecision,
    TrialCount,
    replacements,
    unit_interval,
)
from determined_master.domain.search.memory import SearchMemory
from determined_master.domain.search.records import TrialEnd
from determined_master.domain.search.sampling import draw_trial
from determined_master.domain.search.stream import Stream


class RandomSearch:
    """Independent random points; a trial with an invalid point is replaced.

    State: `position` in the random stream, `created` trials less the replaced ones, `replaced`,
    and `due`: trials that may run at once and are not created yet.
    Source: Bergstra and Bengio 2012, JMLR 13 281-305.
    """

    def __init__(
        self,
        space: HyperparameterSpace,
        seed: int,
        *,
        max_trials: int,
        max_concurrent_trials: int,
        replaces_invalid: bool = True,
    ) -> None:
        self._space = space
        self._stream = Stream(seed)
        self._max_trials = max_trials
        self._first = min(max_trials, max_concurrent_trials or max_trials)
        self._replacements = replacements(max_trials) if replaces_invalid else 0

    def initial(self) -> SearchDecision:
        """As many trials as may run at once; 0 for `max_concurrent_trials` means all."""
        nothing = {"position": 0, "created": 0, "replaced": 0, "due": self._first}
        return self._create(nothing, self._first)

    def validation_completed(
        self,
        state: Any,
        memory: SearchMemory,
        request_id: str,
        metric: float | None,
        time: float | None,
        reported: tuple[str, ...],
    ) -> SearchDecision:
        """Nothing: points are independent of results."""
        return SearchDecision(state)

    def trial_ended(
        self, state: Any, memory: SearchMemory, request_id: str, end: TrialEnd
    ) -> SearchDecision:
        """One more trial, regardless of how the last one ended, until all are created."""
        due = state.get("due", 0)  # states of older releases have none
        after = {**state, "due": due}
        if end == "invalid_hp" and state["replaced"] < self._replacements:
            after |= {"created": state["created"] - 1, "replaced": state["replaced"] + 1}
        if after["created"] + due >= self._max_trials:
            return SearchDecision(after, has_more=due > 0)
        return self._create({**after, "due": due + 1}, 1)

    def create_more(self, state: Any, memory: SearchMemory) -> SearchDecision:
        """More of the first trials."""
        return self._create(state, state.get("due", 0))

    def progress(self, state: Any, memory: SearchMemory, trial_progress: float) -> float:
        """The mean over the trials created so far."""
        return unit_interval(trial_progress)

    def preview(self) -> tuple[TrialCount, ...]:
        """Every trial trains as long as it takes."""
        return (TrialCount(self._max_trials),)

    def _create(self, state: Any, count: int) -> SearchDecision:
        count = min(count, MAX_CREATED)
        self._stream.seek(state["position"])
        trials = tuple(draw_trial(self._stream, self._space) for _ in range(count))
        due = state.get("due", 0) - count
        after = {
            "position": self._stream.position,
            "created": state["created"] + count,
            "replaced": state["replaced"],
            "due": due,
        }
        return SearchDecision(after, trials, has_more=due > 0)
