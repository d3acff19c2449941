"""All allocations that are not over, in memory."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence

from determined_master.domain.allocation.messages import Allocation
from determined_master.domain.states import AllocationState


class LiveAllocations:
    """Kept up to date from the change feed; the rows are the truth.

    Within a lead the feed tells of every commit, also of one whose answer was lost. What was
    committed under an earlier one is read from the rows when a lead begins.
    """

    def __init__(self, nudge: Callable[[str], None]) -> None:
        self._states: dict[str, Allocation] = {}
        self._versions: dict[str, int] = {}
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

    def changed(self, state: Allocation, version: int) -> None:
        """Take note of a committed state; an older version than the known one is ignored."""
        if version <= self._versions.get(state.id, 0):
            return
        before = self._states.get(state.id)
        self._keep(state, version)
        if before is None or _matters(before, state):
            self._nudge(state.request.pool)

    def known(self) -> frozenset[str]:
        """Ids of the live allocations, to be given to `reconcile` with rows read afterwards."""
        return frozenset(self._states)

    def reconcile(self, known: frozenset[str], rows: Sequence[tuple[Allocation, int]]) -> None:
        """Compare with all open allocations and their versions, as the rows have them.

        Args:
            known: what `known` gave before the rows were read.
            rows: state and version of each open allocation.
        """
        for state, version in rows:
            self.changed(state, version)
        gone = known - {state.id for state, _ in rows}
        for state in [self._states[i] for i in gone if i in self._states]:
            self._drop(state)
            self._nudge(state.request.pool)

    def _keep(self, state: Allocation, version: int) -> None:
        experiment_id = state.request.experiment_id
        if state.state == "TERMINATED":
            self._drop(state)
        else:
            self._states[state.id] = state
            self._versions[state.id] = version
            if experiment_id is not None:
                self._of_experiment.setdefault(experiment_id, set()).add(state.id)

    def _drop(self, state: Allocation) -> None:
        experiment_id = state.request.experiment_id
        self._states.pop(state.id, None)
        self._versions.pop(state.id, None)
        if experiment_id is not None:
            siblings = self._of_experiment.get(experiment_id, set())
            siblings.discard(state.id)
            if not siblings:
                self._of_experiment.pop(experiment_id, None)


def _matters(before: Allocation, after: Allocation) -> bool:
    """Whether the scheduler would see a difference."""
    held = [sum(c.state != "TERMINATED" for c in a.containers) for a in (before, after)]
    return held[0] != held[1] or before.state != after.state
