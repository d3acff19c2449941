"""The aggregates of the master: the kind of each and the projection of its state into rows."""

from determined_master.aggregates.allocations import ALLOCATION
from determined_master.aggregates.experiments import EXPERIMENT
from determined_master.aggregates.generic_tasks import GENERIC_TASK
from determined_master.aggregates.interactive_tasks import INTERACTIVE_TASK
from determined_master.aggregates.trials import TRIAL
from determined_master.engine.kind import AnyKind

KINDS: tuple[AnyKind, ...] = (EXPERIMENT, TRIAL, ALLOCATION, GENERIC_TASK, INTERACTIVE_TASK)

__all__ = ["ALLOCATION", "EXPERIMENT", "GENERIC_TASK", "INTERACTIVE_TASK", "KINDS", "TRIAL"]
