"""Starting a trial's next run."""

from __future__ import annotations

from msgspec.structs import replace

from determined_master.domain import ids
from determined_master.domain.trial.messages import RequestAllocation, Trial, TrialEffect

EARLY_EXIT_TIMER = "early_exit"


def allocate(state: Trial, *, follows_failure: bool = False) -> tuple[Trial, list[TrialEffect]]:
    """Request the slots of the next run; the number of a run is that of its allocation."""
    run_id = state.run_id + 1
    allocation_id = ids.allocation_id(ids.TaskId(state.task_id), run_id)
    after = replace(state, run_id=run_id, allocation_id=allocation_id)
    request = RequestAllocation(
        allocation_id=allocation_id,
        run_id=run_id,
        excluded_agents=state.excluded_agents,
        follows_failure=follows_failure,
    )
    return after, [request]
