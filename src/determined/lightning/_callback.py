"""The callback that connects a trainer of Lightning with a trial."""

from __future__ import annotations

import logging
from typing import TYPE_CHECKING, Any, Dict, Optional

from determined._frameworks.trial import (
    Progress,
    check_context,
    length_in,
    metadata_of,
    searcher_of,
)
from determined.lightning import _state
from determined.lightning._lightning import lightning
from determined.lightning._logger import DetLogger

if TYPE_CHECKING:
    from determined import core

logger = logging.getLogger("determined.lightning")


class DetCallback(lightning.callbacks.Checkpoint):
    """Reports, saves, resumes and preempts the training of a Lightning trainer.

    Make it before the trainer, then call `trainer.fit(model, ckpt_path=callback.ckpt_path)`. It
    adds a `DetLogger` if the trainer has none. A training is saved and preempted at the end of an
    epoch, so that a resumed one continues exactly; `limit_train_batches` makes epochs shorter.
    Every rank makes one.

    Args:
        core_context: the Core API context.
        checkpoint_epochs: epochs between two checkpoints; 0 saves at the end and when preempted.
        user_data: values to store in the metadata of each checkpoint.

    Raises:
        TypeError, ValueError: an argument has another type or value.
    """

    def __init__(
        self,
        core_context: core.Context,
        *,
        checkpoint_epochs: int = 1,
        user_data: Optional[Dict[str, Any]] = None,
    ) -> None:
        super().__init__()
        check_context(core_context)
        if not isinstance(checkpoint_epochs, int) or checkpoint_epochs < 0:
            raise ValueError(
                f"checkpoint_epochs must be 0 or more epochs, got {checkpoint_epochs!r}"
            )
        self._core = core_context
        self._checkpoint_epochs = checkpoint_epochs
        self._user_data = user_data
        self._searcher = searcher_of(core_context)
        self._length = length_in(self._searcher, "the trainer of Lightning")
        self._progress = Progress(core_context)
        self._is_finished = False
        """Whether the training has ended by itself, before the trainer's last epoch perhaps."""
        self._is_preempted = False
        self._saved: Optional[int] = None
        """Steps of the last checkpoint."""
        self._steps: float = float("inf")
        """Steps of the whole training."""
        info = core_context.info
        latest = info.latest_checkpoint if info is not None else None
        self._fetched = None if latest is None else _state.fetch(core_context, latest)

    @property
    def ckpt_path(self) -> Optional[str]:
        """The file to pass to `fit`: the trial's latest checkpoint; None to start without one.

        Of another trial's checkpoint the callback loads the model alone.
        """
        return self._fetched.path if self._fetched is not None and self._fetched.is_own else None

    def setup(self, trainer: Any, pl_module: Any, stage: str) -> None:
        """Join a trainer: its metrics are reported, and the searcher's length becomes its own.

        Raises:
            ValueError: the trainer has other processes than the context has ranks.
        """
        ranks = self._core.distributed.size
        if trainer.world_size != ranks:
            raise ValueError(
                f"the trainer has {trainer.world_size} processes and core.init() has {ranks} "
                "ranks: pass distributed=core.DistributedContext.from_torch_distributed() to "
                "core.init(), and let determined.launch.torch_distributed start the processes"
            )
        reporter = next((one for one in trainer.loggers if isinstance(one, DetLogger)), None)
        if reporter is None:
            reporter = DetLogger()
            trainer.loggers = [*trainer.loggers, reporter]
        reporter._bind(self._core, trainer, self._searcher.get("time_metric"))
        if stage == "fit" and self._length is not None:
            self._apply_length(trainer)

    def on_fit_start(self, trainer: Any, pl_module: Any) -> None:
        """Continue the random generators, or take the model of another trial."""
        if self._fetched is None:
            return
        if self._fetched.is_own:
            _state.restore_generators(self._fetched, self._core.distributed.rank)
        else:
            _state.load_model(self._fetched, trainer)
            logger.info("starting with the model of another trial's checkpoint")

    def on_train_start(self, trainer: Any, pl_module: Any) -> None:
        """End a training that has ended before; else note how long it is."""
        self._is_preempted = False
        self._saved = trainer.global_step if trainer.global_step > 0 else None
        self._steps = trainer.estimated_stepping_batches
        if self._is_finished:
            logger.info("this training has ended at step %d", trainer.global_step)
            _stop(trainer)
        elif self._saved is not None:
            logger.info("resuming at step %d", self._saved)

    def on_train_batch_end(self, trainer: Any, *arguments: Any, **keywords: Any) -> None:
        """Report the progress."""
        self._progress.report(trainer.global_step / self._steps)

    def on_train_epoch_end(self, trainer: Any, pl_module: Any) -> None:
        """Save, if that is due, and stop if the trial is preempted."""
        epochs = trainer.current_epoch + 1
        self._is_finished = trainer.should_stop or _is_at_end(trainer, epochs)
        self._is_preempted = self._core.preempt.should_preempt()
        is_due = self._checkpoint_epochs > 0 and epochs % self._checkpoint_epochs == 0
        if self._is_finished or self._is_preempted or is_due:
            self._save(trainer)
        if self._is_preempted and not self._is_finished:
            logger.info("the trial is preempted: training stops after %d epochs", epochs)
            _stop(trainer)

    def teardown(self, trainer: Any, pl_module: Any, stage: str) -> None:
        """Remove the checkpoint that the training began with."""
        fetched, self._fetched = self._fetched, None
        if fetched is not None:
            self._core.distributed.gather_local(None)
            _state.remove(fetched, self._core.distributed.local_rank)

    def state_dict(self) -> Dict[str, Any]:
        """A part of each checkpoint."""
        return {"is_finished": self._is_finished}

    def load_state_dict(self, state_dict: Dict[str, Any]) -> None:
        """Continue with the state of a checkpoint."""
        self._is_finished = state_dict["is_finished"]

    def _save(self, trainer: Any) -> None:
        if self._saved == trainer.global_step:
            return
        self._saved = trainer.global_step
        for one in trainer.loggers:
            if isinstance(one, DetLogger):
                one._report(["validation"])  # a resumed training does not repeat it
        framework = f"lightning-{lightning.__version__}"
        metadata = metadata_of(self._core, framework, self._saved, self._user_data)
        with self._core.checkpoint.store_path(metadata, shard=True) as (path, _):
            _state.save(path, trainer, self._core.distributed.rank)

    def _apply_length(self, trainer: Any) -> None:
        length, loop = self._length, trainer.fit_loop
        assert length is not None
        before = (loop.max_epochs, trainer.max_steps)
        if length.is_of_epochs:
            loop.max_epochs, loop.epoch_loop.max_steps = length.value, -1
        else:
            loop.max_epochs, loop.epoch_loop.max_steps = -1, length.value
        after = (loop.max_epochs, trainer.max_steps)
        if before != after:
            text = (
                "searcher.max_length sets max_epochs and max_steps to %s and %s (were %s and %s)"
            )
            logger.info(text, *after, *before)


def _is_at_end(trainer: Any, epochs: int) -> bool:
    is_last_epoch = trainer.max_epochs not in (None, -1) and epochs >= trainer.max_epochs
    return bool(is_last_epoch or 0 <= trainer.max_steps <= trainer.global_step)


def _stop(trainer: Any) -> None:
    """Stop after this epoch, also before the trainer's minimum."""
    trainer.fit_loop.min_epochs = trainer.fit_loop.epoch_loop.min_steps = None
    trainer.should_stop = True
