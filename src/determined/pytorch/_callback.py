"""Places in training where a trial can do something of its own."""

from __future__ import annotations

from typing import Any, Dict, List, Optional


class PyTorchCallback:
    """Methods that the trainer calls; override those you need.

    They are called on every rank, except those about checkpoints, which rank 0 alone writes.
    """

    def on_trial_startup(self, first_batch_idx: int, checkpoint_uuid: Optional[str]) -> None:
        """Before anything else; `first_batch_idx` is above 0 when the trial resumes."""

    def on_trial_shutdown(self) -> None:
        """At the end, also after an error."""

    def on_training_start(self) -> None:
        """Before the first batch of this run."""

    def on_training_epoch_start(self, epoch_idx: int) -> None:
        """Before the first batch of an epoch; not when a run resumes in the middle of it."""

    def on_training_epoch_end(self, epoch_idx: int) -> None:
        """After the last batch of an epoch."""

    def on_training_workload_end(
        self, avg_metrics: Dict[str, Any], batch_metrics: Dict[str, Any]
    ) -> None:
        """After training metrics have been reported: their averages, and those of each batch."""

    def on_validation_start(self) -> None:
        """Before a validation."""

    def on_validation_epoch_start(self) -> None:
        """Before the first batch of a validation."""

    def on_validation_epoch_end(self, outputs: List[Any]) -> None:
        """After the last batch of a validation; what `evaluate_batch` of this rank returned."""

    def on_validation_end(self, metrics: Dict[str, Any]) -> None:
        """After a validation; the metrics are those of all ranks together."""

    def on_checkpoint_load_start(self, checkpoint: Dict[str, Any]) -> None:
        """Before a checkpoint's state is taken over; what is changed in it counts."""

    def on_checkpoint_save_start(self, checkpoint: Dict[str, Any]) -> None:
        """Before a checkpoint's state is written; what is changed in it is saved."""

    def on_checkpoint_end(self, checkpoint_dir: str) -> None:
        """Deprecated: as `on_checkpoint_write_end`."""

    def on_checkpoint_write_end(self, checkpoint_dir: str) -> None:
        """After a checkpoint's files are written; files added to the directory are saved."""

    def on_checkpoint_upload_end(self, uuid: str) -> None:
        """After a checkpoint is stored and reported."""

    def state_dict(self) -> Dict[str, Any]:
        """What of this callback belongs into a checkpoint."""
        return {}

    def load_state_dict(self, state_dict: Dict[str, Any]) -> None:
        """Take over what `state_dict` gave."""
