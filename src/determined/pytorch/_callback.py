"""The callbacks of a PyTorch trial."""

from __future__ import annotations

from typing import Any, Dict, List, Optional


class PyTorchCallback:
    """Methods that the trainer calls; override those you need.

    They are called on every rank, except those about saving checkpoints, which are called on rank
    0 only.
    """

    def on_trial_startup(self, first_batch_idx: int, checkpoint_uuid: Optional[str]) -> None:
        """Called first; `first_batch_idx` is above 0 if the trial resumes."""

    def on_trial_shutdown(self) -> None:
        """Called last, also after an error."""

    def on_training_start(self) -> None:
        """Called before the first batch of this run."""

    def on_training_epoch_start(self, epoch_idx: int) -> None:
        """Called before the first batch of an epoch, not if a run resumes within the epoch."""

    def on_training_epoch_end(self, epoch_idx: int) -> None:
        """Called after the last batch of an epoch."""

    def on_training_workload_end(
        self, avg_metrics: Dict[str, Any], batch_metrics: Dict[str, Any]
    ) -> None:
        """Called after a report of training metrics, with averages and per-batch metrics."""

    def on_validation_start(self) -> None:
        """Called before a validation."""

    def on_validation_epoch_start(self) -> None:
        """Called before the first batch of a validation."""

    def on_validation_epoch_end(self, outputs: List[Any]) -> None:
        """Called after the last batch of a validation, with this rank's results."""

    def on_validation_end(self, metrics: Dict[str, Any]) -> None:
        """Called after a validation, with the metrics reduced over all ranks."""

    def on_checkpoint_load_start(self, checkpoint: Dict[str, Any]) -> None:
        """Called before a checkpoint's state is loaded; changes to it take effect."""

    def on_checkpoint_save_start(self, checkpoint: Dict[str, Any]) -> None:
        """Called before a checkpoint's state is written; changes to it are saved."""

    def on_checkpoint_end(self, checkpoint_dir: str) -> None:
        """Deprecated: use `on_checkpoint_write_end`."""

    def on_checkpoint_write_end(self, checkpoint_dir: str) -> None:
        """Called after a checkpoint's files are written; further files in it are saved."""

    def on_checkpoint_upload_end(self, uuid: str) -> None:
        """Called after a checkpoint is stored and reported."""

    def state_dict(self) -> Dict[str, Any]:
        """The callback's state to save in checkpoints."""
        return {}

    def load_state_dict(self, state_dict: Dict[str, Any]) -> None:
        """Load a state that `state_dict` returned."""
