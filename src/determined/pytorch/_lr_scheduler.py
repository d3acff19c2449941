"""Learning rate schedulers and when they are stepped."""

from __future__ import annotations

import enum
from typing import Any, Dict, List, NamedTuple


class LRScheduler:
    """A torch learning rate scheduler, and when the trainer steps it.

    Args:
        scheduler: torch's scheduler.
        step_mode: after which unit to step.
        frequency: after how many of these units; at least 1.
    """

    class StepMode(enum.Enum):
        """After which unit to step; with MANUAL_STEP the trial steps the scheduler."""

        STEP_EVERY_EPOCH = 1
        STEP_EVERY_BATCH = 2
        MANUAL_STEP = 3
        STEP_EVERY_OPTIMIZER_STEP = 4

    def __init__(self, scheduler: Any, step_mode: StepMode, frequency: int = 1) -> None:
        if not isinstance(step_mode, LRScheduler.StepMode):
            raise ValueError(f"step_mode must be an LRScheduler.StepMode, got {step_mode!r}")
        if frequency < 1:
            raise ValueError(f"frequency must be at least 1, got {frequency}")
        self._scheduler = scheduler
        self._step_mode = step_mode
        self._frequency = frequency

    def step(self, *args: Any, **kwargs: Any) -> None:
        """Step torch's scheduler."""
        self._scheduler.step(*args, **kwargs)

    def get_last_lr(self) -> List[Any]:
        """The learning rates of the optimizer's groups."""
        return list(self._scheduler.get_last_lr())

    def load_state_dict(self, state_dict: Dict[Any, Any]) -> None:
        self._scheduler.load_state_dict(state_dict)

    def state_dict(self) -> Dict[Any, Any]:
        """The scheduler's state."""
        return dict(self._scheduler.state_dict())

    def _is_due(self, at: StepCounts) -> bool:
        """Whether to step after a batch."""
        count = {
            LRScheduler.StepMode.STEP_EVERY_BATCH: at.batches,
            LRScheduler.StepMode.STEP_EVERY_OPTIMIZER_STEP: at.optimizer_steps,
            LRScheduler.StepMode.STEP_EVERY_EPOCH: at.epochs,
        }.get(self._step_mode)
        return bool(count) and count is not None and count % self._frequency == 0


class StepCounts(NamedTuple):
    """Batches, epochs and optimizer steps done; 0 for a unit that did not just end."""

    batches: int
    epochs: int
    optimizer_steps: int


def step_counts(batches: int, epoch_batches: int, aggregation: int) -> StepCounts:
    """The counts of units that end with batch number `batches`."""
    epochs, rest = divmod(batches, epoch_batches)
    steps, open_ = divmod(batches, aggregation)
    return StepCounts(batches, 0 if rest else epochs, 0 if open_ else steps)
