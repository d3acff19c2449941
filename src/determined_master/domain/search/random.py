"""Random search, and the search of a single trial."""

from __future__ import annotations

from typing import Any

from determined_master.domain.config.hyperparameters import HyperparameterSpace
from determined_master.domain.experiment.messages import TrialEnd
from determined_master.domain.search.bounds import replacements, unit_interval
from determined_master.domain.search.decision import Decision, TrialCount
from determined_master.domain.search.memory import SearchMemory
from determined_master.domain.search.sampling import draw_trial
from determined_master.domain.search.stream import Stream


class RandomSearch:
    """Independent random points; a trial that found its point invalid is replaced.

    State: `position` in the random stream, `created` trials less the replaced ones, `replaced`.
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

    def initial(self) -> Decision:
        """As many trials as may run at once; 0 for `max_concurrent_trials` means all."""
        return self._create(self._first, position=0, created=0, replaced=0)

    def validation_completed(
        self,
        state: Any,
        memory: SearchMemory,
        request_id: str,
        metric: float | None,
        time: float | None,
        reported: tuple[str, ...],
    ) -> Decision:
        """Nothing: points are drawn without regard to what others gave."""
        return Decision(state)

    def trial_ended(
        self, state: Any, memory: SearchMemory, request_id: str, end: TrialEnd
    ) -> Decision:
        """One trial more, however the last one ended, until all have been made."""
        created, replaced = state["created"], state["replaced"]
        if end == "invalid_hp" and replaced < self._replacements:
            created, replaced = created - 1, replaced + 1
        count = 1 if created < self._max_trials else 0
        return self._create(count, state["position"], created, replaced)

    def progress(self, state: Any, memory: SearchMemory, trial_progress: float) -> float:
        """The mean over the trials made so far."""
        return unit_interval(trial_progress)

    def preview(self) -> tuple[TrialCount, ...]:
        """Every trial trains as long as it takes."""
        return (TrialCount(self._max_trials),)

    def _create(self, count: int, position: int, created: int, replaced: int) -> Decision:
        self._stream.seek(position)
        trials = tuple(draw_trial(self._stream, self._space) for _ in range(count))
        state = {
            "position": self._stream.position,
            "created": created + count,
            "replaced": replaced,
        }
        return Decision(state, trials)
