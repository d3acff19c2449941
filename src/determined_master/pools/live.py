"""All allocations that are not over, in memory."""

from __future__ import annotations

from collections.abc import Callable, Iterable

from determined_master.domain.allocation.messages import Allocation
from determined_master.domain.states import AllocationState


class LiveAllocations:
    """Kept up to date from the change feed; the rows are the truth."""

    def __init__(self, nudge: Callable[[str], None]) -> None:
        self._states: dict[str, Allocation] = {}
        self._of_experiment: dict[int, set[str]] = {}
        self._nudge = nudge

    def values(self) -> Iterable[Allocation]:
        """The live allocations, in no order."""
        return self._states.values()

    def find(self, allocation_id: str) -> Allocation | None:
        """A live allocation by its id."""
        return self._states.get(allocation_id)

    def states_of_experiment(self, experiment_id: int) -> list[AllocationState]:
        """States of an experiment's live allocations."""
        return [self._states[i].state for i in self._of_experiment.get(experiment_id, ())]

    def states_of_trial(self, experiment_id: int, trial_id: int) -> list[AllocationState]:
        """States of a trial's live allocations."""
        found = (self._states[i] for i in self._of_experiment.get(experiment_id, ()))
        return [a.state for a in found if a.request.trial_id == trial_id]

    def changed(self, state: Allocation) -> None:
        """Take note of a committed state."""
        before = self._states.get(state.id)
        self._keep(state)
        if before is None or _matters(before, state):
            self._nudge(state.request.pool)

    def _keep(self, state: Allocation) -> None:
        experiment_id = state.request.experiment_id
        if state.state != "TERMINATED":
            self._states[state.id] = state
            if experiment_id is not None:
                self._of_experiment.setdefault(experiment_id, set()).add(state.id)
            return
        self._states.pop(state.id, None)
        if experiment_id is not None:
            siblings = self._of_experiment.get(experiment_id, set())
            siblings.discard(state.id)
            if not siblings:
                self._of_experiment.pop(experiment_id, None)


def _matters(before: Allocation, after: Allocation) -> bool:
    """Whether the scheduler would see a difference."""
    held = [sum(c.state != "TERMINATED" for c in a.containers) for a in (before, after)]
    return held[0] != held[1] or before.state != after.state
