"""The loop of a training: what is due after a batch, in every framework that has trial classes."""

from __future__ import annotations

import abc
import contextlib
import logging
from typing import Any, Callable, Dict, Iterator, List, Mapping, Optional

from determined import util
from determined.pytorch import _values
from determined.pytorch._base_context import BaseTrialContext
from determined.pytorch._callback import PyTorchCallback
from determined.pytorch._training import checkpoint_policy
from determined.pytorch._training.checkpointing import Checkpointer, TrainingPosition
from determined.pytorch._training.plan import FitPlan
from determined.pytorch._training.validation import Validation
from determined.pytorch._units import UnitConverter

logger = logging.getLogger("determined.pytorch")

STOP_CHECK_BATCHES = 10
"""Several ranks check for a stop at this interval, a single rank after every batch."""


class TrainingLoop(abc.ABC):
    """Trains a trial by a plan; runs on every rank.

    After each batch it performs the due actions in this order: report, validate, save, stop. It
    saves and stops only after an optimizer step, so that no aggregated gradients are lost.

    A subclass sets `_loader`, `_validation` and `_checkpointer`, then calls `_set_length`.
    """

    _loader: Any
    """The training data loader of this rank; None if another rank has its data."""
    _validation: Validation
    _checkpointer: Checkpointer
    _reports_own = True
    """Whether the training metrics of this rank count."""

    def __init__(
        self, context: BaseTrialContext, plan: FitPlan, callbacks: Mapping[str, PyTorchCallback]
    ) -> None:
        self._context = context
        self._plan = plan
        self._core = context._core
        self._callbacks = list(callbacks.values())
        self._at = TrainingPosition()
        self._saved_batches = -1
        self._unreported: List[Dict[str, Any]] = []
        self._wants_checkpoint = False
        self._stop_requested = False
        self._is_stopping = False

    @abc.abstractmethod
    def _train_one(self, batches: Optional[Iterator[Any]], epoch: int, batch: int) -> Any:
        """Train one batch; its metrics, by name.

        Args:
            batches: this rank's batches; None if another rank has its data.
            epoch: the epoch, from 0.
            batch: the batch, from 0, counted over all epochs.
        """

    @abc.abstractmethod
    def _batches(self) -> Optional[Iterator[Any]]:
        """This rank's batches from the position on; None if another rank has its data."""

    def _is_step(self) -> bool:
        """Whether the last batch ended with an optimizer step."""
        return True

    def _set_length(self, epoch_batches: int, batch_records: Any) -> None:
        """Set what an epoch and the training have.

        Args:
            epoch_batches: batches of an epoch on this rank; all ranks use the largest.
            batch_records: records of a batch over all ranks; None if they are not known.

        Raises:
            ValueError: no rank has a batch.
        """
        length: int = max(self._context.distributed.allgather(epoch_batches))
        if length == 0:
            raise ValueError("the training data loader returned no batches")
        self._units = UnitConverter(length, batch_records)
        self._context._epoch_len = length
        plan = self._plan
        self._total = 1 if plan.test_mode else self._units.batches_of(plan.max_length)

    def run(self) -> None:
        """Train until the end of the plan or a stop request."""
        uuid = self._plan.latest_checkpoint
        if uuid is not None:
            self._at = self._checkpointer.load(uuid)
            self._saved_batches = self._at.batches or -1
        self._context._steps_completed = self._at.batches
        with contextlib.ExitStack() as stack:
            stack.callback(self._notify, lambda callback: callback.on_trial_shutdown())
            self._notify(lambda callback: callback.on_trial_startup(self._at.batches, uuid))
            self._profile(stack)
            for model in self._context.models:
                model.train()
            batches = self._batches()
            self._notify(lambda callback: callback.on_training_start())
            if self._plan.step_zero_validation and self._at == TrainingPosition():
                self._validate()
            self._checkpointer.restore_generators()  # after all random draws
            if self._at.batches >= self._total:
                self._finish()
            while self._at.batches < self._total and not self._is_stopping:
                self._train_batch(batches)
                self._do_due_work()

    def _train_batch(self, batches: Optional[Iterator[Any]]) -> None:
        context, done = self._context, self._at.batches
        epoch, place = divmod(done, self._units.epoch_batches)
        context._current_batch = done
        if place == 0:
            self._notify(lambda callback: callback.on_training_epoch_start(epoch))
        self._unreported.append(_values.detached(self._train_one(batches, epoch, done)))
        done += 1
        self._at = self._at._replace(batches=done)
        if done % self._units.epoch_batches == 0:
            self._notify(lambda callback: callback.on_training_epoch_end(epoch))
        if context.profiler is not None:
            context.profiler.step()

    def _do_due_work(self) -> None:
        """Perform the actions that are due after a batch."""
        done, plan = self._at.batches, self._plan
        is_last = done >= self._total
        validates = is_last or self._units.is_due(plan.validation_period, done)
        saves = is_last or self._units.is_due(plan.checkpoint_period, done)
        reports = is_last or self._units.is_due(plan.reporting_period, done)
        if reports:
            self._report()
        if validates:
            self._validate()
        if not is_last and not self._stop_requested:
            self._stop_requested = self._should_stop(validates or saves or reports)
        self._wants_checkpoint = self._wants_checkpoint or saves or self._stop_requested
        is_step = self._is_step()
        if self._wants_checkpoint and (is_step or is_last):
            self._save()
        self._is_stopping = self._stop_requested and is_step

    def _should_stop(self, has_due_action: bool) -> bool:
        """Whether the trial, the search or the scheduler requests a stop."""
        dist = self._context.distributed
        if dist.size > 1 and not has_due_action and self._at.batches % STOP_CHECK_BATCHES:
            return False
        if any(dist.allgather(self._context.get_stop_requested())):
            logger.info("the trial requested a stop after batch %d", self._at.batches)
            return True
        return self._core.preempt.should_preempt()

    def _report(self) -> None:
        """Report metrics since the last report, averaged over batches and ranks."""
        if not self._unreported:
            return
        dist = self._context.distributed
        made = util.make_metrics(None, [_values.plain(one) for one in self._unreported])
        self._unreported = []
        averages = {k: v for k, v in made["avg_metrics"].items() if v is not None}
        every = dist.gather(averages if self._reports_own else {})
        reduced = self._context.reduce_metrics(for_training=True)
        if every is not None:
            averages = _values.mean(every)
            averages.update(_values.plain(reduced))
        averages = dist.broadcast(averages)
        self._context.reset_reducers(for_training=True)
        if dist.rank == 0:
            self._core.train.report_training_metrics(
                self._at.batches, averages, made["batch_metrics"]
            )
            self._core.train._try_report_progress(min(1.0, self._at.batches / self._total))
        for callback in self._callbacks:
            callback.on_training_workload_end(averages, made["batch_metrics"])

    def _validate(self) -> None:
        """Validate, report, and apply the checkpoint policy."""
        if self._at.validated_batches == self._at.batches:
            return
        dist, goal, done = self._context.distributed, self._plan.goal, self._at.batches
        metrics = self._validation.run()
        value = checkpoint_policy.searched_value(goal, metrics)
        wants = False
        if dist.rank == 0:
            wants = checkpoint_policy.wants_checkpoint(
                self._plan.checkpoint_policy, goal, value, self._best_values()
            )
            # A search may use these as its time metric; metrics of the trial take precedence.
            time = {"batches": done, "epochs": done // self._units.epoch_batches}
            self._core.train.report_validation_metrics(done, {**time, **metrics})
        self._wants_checkpoint = bool(dist.broadcast(wants)) or self._wants_checkpoint
        best = checkpoint_policy.best_of(goal, value, self._at.best)
        self._at = self._at._replace(validated_batches=done, best=best)

    def _best_values(self) -> Iterator[Optional[float]]:
        """The best of the trial, then that of the experiment, which is fetched only if needed."""
        yield self._at.best
        yield self._core.train.get_experiment_best_validation()

    def _save(self) -> None:
        """Save a checkpoint, unless the last one was saved after the same batch."""
        self._wants_checkpoint = False
        if self._saved_batches == self._at.batches:
            return
        self._report()  # a run that resumes from here does not repeat these batches
        self._checkpointer.save(self._at)
        self._saved_batches = self._at.batches

    def _finish(self) -> None:
        """Validate and save if the previous run stopped after its last batch."""
        self._validate()
        if self._wants_checkpoint:
            self._save()

    def _profile(self, stack: contextlib.ExitStack) -> None:
        if self._plan.profiling_enabled:
            self._core.profiler.on()
            stack.callback(self._core.profiler.off)
        if self._context.profiler is not None:
            stack.enter_context(self._context.profiler)

    def _notify(self, call: Callable[[PyTorchCallback], None]) -> None:
        for callback in self._callbacks:
            call(callback)
