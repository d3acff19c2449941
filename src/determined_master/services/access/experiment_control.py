"""Who may change an experiment."""

from __future__ import annotations

from typing import TYPE_CHECKING

from determined_master.domain.access import rules as access
from determined_master.domain.errors import NotFound

if TYPE_CHECKING:
    from determined_master.domain.access.rules import Caller
    from determined_master.store.experiments.experiments import ExperimentRow


def controlled(caller: Caller, row: ExperimentRow | None, experiment_id: int) -> ExperimentRow:
    """The row of that id as it was read, which the caller may change.

    Raises:
        NotFound: there is none, or the caller may not know of it. PermissionDenied.
    """
    if row is None:
        raise NotFound(f"experiment '{experiment_id}' not found")
    access.may_control(caller, "experiment", row)
    return row
