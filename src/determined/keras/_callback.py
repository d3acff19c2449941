"""The callback that connects `Model.fit` of Keras with a trial."""

from __future__ import annotations

import logging
import os
import pathlib
import tempfile
from typing import TYPE_CHECKING, Any, Dict, List, Optional, Union

from determined.__version__ import __version__
from determined._frameworks.trial import (
    Length,
    Progress,
    check_context,
    length_in,
    searcher_of,
)
from determined.keras import _state
from determined.keras._keras import keras
from determined.keras._state import WEIGHTS_FILE, Place
from determined.keras.callbacks import SIBLINGS, Callback

if TYPE_CHECKING:
    from determined import core

logger = logging.getLogger("determined.keras")

Logs = Optional[Dict[str, Any]]
EPOCH = "epoch"


class DeterminedCallback(keras.callbacks.ProgbarLogger):
    """Reports, saves, resumes and preempts `Model.fit` of Keras.

    Validation metrics are named `val_...`, and each report has `epochs` and `batches`, which a
    search may have as its `time_metric`. A training is saved and preempted at the end of an epoch,
    so that a resumed one continues exactly; `steps_per_epoch` of `fit` makes epochs shorter. List
    it behind the other callbacks; each rank makes one. It is also the progress bar.

    Args:
        core_context: the Core API context.
        checkpoint: the checkpoint to start from, usually `info.latest_checkpoint`.
        continue_id: names the training, usually `info.trial.trial_id`. A checkpoint of the same
            name gives optimizer, epoch and random generators too; of another, the weights alone.
        train_metrics_report_period: "epoch", or batches between two reports of training metrics.
        checkpoint_epochs: epochs between two checkpoints; 0 saves at the end and when preempted.

    Raises:
        TypeError, ValueError: an argument has another type or value.
    """

    def __init__(
        self,
        core_context: core.Context,
        checkpoint: Optional[str],
        continue_id: Union[int, str],
        *,
        train_metrics_report_period: Union[int, str] = EPOCH,
        checkpoint_epochs: int = 1,
    ) -> None:
        super().__init__()
        _check(core_context, train_metrics_report_period, checkpoint_epochs)
        self._core = core_context
        self._checkpoint = checkpoint
        self._continue_id = continue_id
        is_by_epoch = train_metrics_report_period == EPOCH
        self._period = None if is_by_epoch else int(train_metrics_report_period)
        """Batches between two reports of training metrics; None for one each epoch."""
        self._checkpoint_epochs = checkpoint_epochs
        self._length = self._length_of(core_context)
        self._is_training = False
        self._is_preempted = False
        self._epoch = 0
        """Epochs that have ended."""
        self._batches = 0
        self._batches_before = 0
        """Batches that have been trained when this epoch began."""
        self._saved: Optional[int] = None
        """Batches of the last checkpoint."""
        self._progress = Progress(core_context)

    def set_params(self, params: Dict[str, Any]) -> None:
        """Join the callbacks of this call of `fit`, `evaluate` or `predict`.

        Raises:
            ValueError: another DeterminedCallback is one of them.
        """
        if params["verbose"] == "auto" and self._core.info is not None:
            params["verbose"] = 2  # a line each epoch, for logs
        super().set_params(params)
        self.params = params
        self._is_training = False
        siblings = params.setdefault(SIBLINGS, [])
        if any(isinstance(one, DeterminedCallback) for one in siblings):
            raise ValueError(
                "fit has two DeterminedCallbacks, and each would report and save: remove one"
            )
        siblings.append(self)

    def on_train_begin(self, logs: Logs = None) -> None:
        """Load the checkpoint, before the first batch of the first call of `fit`."""
        super().on_train_begin(logs)
        self._check_order()
        self._is_training, self._is_preempted = True, False
        uuid, self._checkpoint = self._checkpoint, None
        if uuid is not None:
            self._load(uuid)
        self._check_epochs(self.params["epochs"])

    def on_epoch_begin(self, epoch: int, logs: Logs = None) -> None:
        """Begin an epoch, the first one of a resumed training behind the last that was saved."""
        self.model._initial_epoch = None
        super().on_epoch_begin(epoch, logs)
        self._epoch, self._batches_before = epoch, self._batches
        for one in self._stateful():
            one.on_train_workload_begin(self._batches, self.params["steps"], logs or {})

    def on_train_batch_end(self, batch: int, logs: Logs = None) -> None:
        """Report training metrics, if they are due, and the progress."""
        super().on_train_batch_end(batch, logs)
        before, self._batches = self._batches, self._batches_before + batch + 1
        if self._period is not None and before // self._period < self._batches // self._period:
            self._report_training(logs)
        self._report_progress(batch + 1)
        if self._length is not None and self._length.is_reached(0, self._batches):
            self.model.stop_training = True

    def on_test_end(self, logs: Logs = None) -> None:
        """Report validation metrics, of an evaluation outside of `fit` too."""
        super().on_test_end(logs)
        values = {f"val_{name}": float(value) for name, value in (logs or {}).items()}
        epochs = self._epoch + 1 if self._is_training else self._epoch
        self._core.train.report_validation_metrics(
            self._batches, {**values, "batches": self._batches, "epochs": epochs}
        )

    def on_epoch_end(self, epoch: int, logs: Logs = None) -> None:
        """Report training metrics, if they are due; save, and stop if the trial is preempted."""
        super().on_epoch_end(epoch, logs)
        self._epoch = epoch + 1
        trained = {n: v for n, v in (logs or {}).items() if not n.startswith("val_")}
        if self._period is None:
            self._report_training(trained)
        for one in self._stateful():
            one.on_train_workload_end(self._batches, logs or {})
        if self._length is not None and self._length.is_reached(self._epoch, self._batches):
            self.model.stop_training = True
        is_finished = self.model.stop_training or self._epoch >= self.params["epochs"]
        self._is_preempted = self._core.preempt.should_preempt()
        is_due = self._checkpoint_epochs > 0 and self._epoch % self._checkpoint_epochs == 0
        if is_finished or self._is_preempted or is_due:
            self._save(is_finished)
        if self._is_preempted:
            logger.info("the trial is preempted: training stops after %d epochs", self._epoch)
            self.model.stop_training = True

    def on_train_end(self, logs: Logs = None) -> None:
        """Save, if that is due at the end alone and a callback behind this one stopped."""
        super().on_train_end(logs)
        self._is_training = False
        if self._batches > 0:
            self._save(not self._is_preempted)
        self.model._initial_epoch = None

    def save_model(self, model: Any, path: str, distributed: core.DistributedContext) -> None:
        """Write the weights, with those of the optimizer, into a directory; each rank is called.

        A subclass may write other files. Only the chief's are a part of the checkpoint: with
        strategies of TensorFlow, each worker has to write.
        """
        if distributed.rank == 0:
            model.save_weights(os.path.join(path, WEIGHTS_FILE))
            return
        with tempfile.TemporaryDirectory(prefix="keras-") as scratch:
            model.save_weights(os.path.join(scratch, WEIGHTS_FILE))

    def load_model(self, model: Any, path: str, distributed: core.DistributedContext) -> None:
        """Load what `save_model` has written; each rank is called."""
        model.load_weights(os.path.join(path, WEIGHTS_FILE))

    def _load(self, uuid: str) -> None:
        with self._core.checkpoint.restore_path(uuid) as path:
            place = _state.read_place(path, uuid)
            is_own = place.continue_id == self._continue_id
            optimizer = getattr(self.model, "optimizer", None)
            if optimizer is not None and not optimizer.built:
                optimizer.build(self.model.trainable_variables)
            fresh = [] if is_own else _state.variables_of(optimizer)
            self._load_weights(path, uuid)
            if not is_own:
                _state.set_variables(optimizer, fresh)
                logger.info("starting with the weights of checkpoint %s of another training", uuid)
                return
            _state.restore(path, self.model, self._stateful(), self._core.distributed.rank)
        self._epoch, self._batches, self._saved = place.epochs, place.batches, place.batches
        self.model._initial_epoch = self.params["epochs"] if place.is_finished else place.epochs
        logger.info("resuming checkpoint %s after %d epochs", uuid, place.epochs)

    def _load_weights(self, path: pathlib.Path, uuid: str) -> None:
        try:
            self.load_model(self.model, str(path), self._core.distributed)
        except (ValueError, KeyError, FileNotFoundError) as error:
            raise ValueError(
                f"checkpoint {uuid} does not fit model {self.model.name!r}: {error}. Start from a "
                "checkpoint of a model with the same layers, or from none"
            ) from error

    def _save(self, is_finished: bool) -> None:
        if self._saved == self._batches:
            return
        self._saved = self._batches
        place = Place(self._continue_id, self._epoch, self._batches, is_finished)
        metadata = {
            "steps_completed": self._batches,
            "epochs_completed": self._epoch,
            "continue_id": self._continue_id,
            "determined_version": __version__,
            "framework": f"keras-{keras.__version__}",
            "backend": keras.backend.backend(),
        }
        distributed = self._core.distributed
        with self._core.checkpoint.store_path(metadata, shard=True) as (path, _):
            self.save_model(self.model, str(path), distributed)
            _state.save(path, place, self.model, self._stateful(), distributed.rank)
            for one in self._stateful():
                one.on_checkpoint_end(str(path))

    def _report_training(self, logs: Logs) -> None:
        values = {name: float(value) for name, value in (logs or {}).items()}
        epochs = self._epochs_so_far()
        self._core.train.report_training_metrics(
            self._batches, {**values, "batches": self._batches, "epochs": epochs}
        )

    def _epochs_so_far(self) -> float:
        """Epochs so far; with a fraction inside of one whose length is known."""
        steps: Optional[int] = self.params["steps"]
        if self._period is None or not steps:
            return self._epoch
        return self._epoch + (self._batches - self._batches_before) / steps

    def _report_progress(self, batch: int) -> None:
        steps = self.params["steps"]
        if steps:
            self._progress.report((self._epoch + batch / steps) / self.params["epochs"])

    def _length_of(self, core_context: core.Context) -> Optional[Length]:
        return length_in(searcher_of(core_context), "fit of Keras")

    def _check_epochs(self, epochs: int) -> None:
        """Warn if `fit` ends before the searcher's length."""
        length = self._length
        if length is not None and length.is_of_epochs and epochs < length.value:
            logger.warning(
                "searcher.max_length is %d epochs, and fit ends after %d: pass epochs=%d to fit",
                length.value,
                epochs,
                length.value,
            )

    def _stateful(self) -> List[Callback]:
        return [one for one in self.params[SIBLINGS] if one is not self]

    def _check_order(self) -> None:
        siblings = self.params[SIBLINGS]
        later = siblings[siblings.index(self) + 1 :]
        if later:
            raise ValueError(
                f"list the DeterminedCallback behind {type(later[0]).__name__}, whose state of an "
                "epoch it saves"
            )


def _check(core_context: Any, period: Any, checkpoint_epochs: Any) -> None:
    check_context(core_context)
    is_count = isinstance(period, int) and not isinstance(period, bool) and period > 0
    if period != EPOCH and not is_count:
        raise ValueError(
            f"train_metrics_report_period must be 'epoch' or a number of batches, got {period!r}"
        )
    if not isinstance(checkpoint_epochs, int) or checkpoint_epochs < 0:
        raise ValueError(f"checkpoint_epochs must be 0 or more epochs, got {checkpoint_epochs!r}")
