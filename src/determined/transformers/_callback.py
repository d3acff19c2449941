"""The callback that connects the trainer of transformers with a trial."""

from __future__ import annotations

import logging
import os
from typing import TYPE_CHECKING, Any, Dict, List, Optional

from determined._frameworks.trial import Progress, metadata_of, searcher_of
from determined.transformers import _resume
from determined.transformers._transformers import transformers

if TYPE_CHECKING:
    from determined import core

logger = logging.getLogger("determined.transformers")

SYNC_EVERY = 10
"""Steps after which several ranks check for a preemption; one rank checks after each."""

_EVALUATION = "eval_"
_TIMES = {"batches": "global_step", "steps": "global_step", "epochs": "epoch"}
"""Attributes of the trainer's state by the `searcher.time_metric` that they are reported as."""


class DetCallback(transformers.TrainerCallback):
    """Reports, saves, resumes and preempts the training of a transformers Trainer.

    Pass the trainer's arguments before the trainer is made: they get `resume_from_checkpoint`, and
    the length that the searcher's configuration has. Then call
    `trainer.train(resume_from_checkpoint=args.resume_from_checkpoint)`. Every rank makes one.

    Args:
        core_context: the Core API context.
        args: the trainer's arguments.
        filter_metrics: report only metrics whose names contain one of these; those that the
            searcher needs are always reported.
        user_data: values to store in the metadata of each checkpoint.

    Raises:
        ValueError: the trainer has other processes than the context has ranks.
    """

    def __init__(
        self,
        core_context: core.Context,
        args: transformers.TrainingArguments,
        filter_metrics: Optional[List[str]] = None,
        user_data: Optional[Dict[str, Any]] = None,
    ) -> None:
        super().__init__()
        self.core_context = core_context
        self.filter_metrics = filter_metrics
        self.user_data = user_data
        self.last_train_metrics = -1
        self.last_eval_metrics = -1
        self.last_save = -1
        self.last_progress = 0
        self.info = core_context.info
        self.searcher_metric: Optional[str] = None
        self.time_metric: Optional[str] = None
        self._is_training = False
        self._is_preempted = False
        self._has_warned = False
        self._evaluation: Dict[str, Any] = {}
        """Metrics of this step's evaluations, on one or several data sets."""
        self._check_ranks(args)
        self._progress = Progress(core_context, 0)
        if self.info is not None and self.info.task_type == "TRIAL":
            searcher = searcher_of(core_context)
            self.searcher_metric = searcher.get("metric")
            self.time_metric = searcher.get("time_metric")
            _resume.apply_length(args, searcher)
            self.load_last_checkpoint(args)

    def load_last_checkpoint(self, args: transformers.TrainingArguments) -> None:
        """Fetch the trial's latest checkpoint, if it has one, and let the arguments name it.

        The checkpoint of another trial gives the model alone.
        """
        latest = self.info.latest_checkpoint if self.info is not None else None
        if latest is None:
            return
        if hasattr(args, "overwrite_output_dir"):  # transformers 4 refuses a directory with files
            args.overwrite_output_dir = True
        args.resume_from_checkpoint = _resume.fetch(self.core_context, args, latest)

    def on_train_begin(
        self,
        args: transformers.TrainingArguments,
        state: transformers.TrainerState,
        control: transformers.TrainerControl,
        **kwargs: Any,
    ) -> None:
        """Refuse a second callback, which would report and save everything twice.

        Another trial's checkpoint, or one of another list of callbacks, lacks states of callbacks.

        Raises:
            ValueError: the trainer has two.
        """
        state.stateful_callbacks = _resume.CallbackStates(
            getattr(state, "stateful_callbacks", None) or {}
        )
        if getattr(state, "_det_callback", self) is not self:
            raise ValueError(
                "this trainer has two DetCallbacks, and each would report and save: remove one"
            )
        state._det_callback = self
        self._is_training = True

    def on_train_end(
        self,
        args: transformers.TrainingArguments,
        state: transformers.TrainerState,
        control: transformers.TrainerControl,
        **kwargs: Any,
    ) -> None:
        """Report the last evaluation."""
        self._is_training = False
        self._report_evaluation(state)

    def on_log(
        self,
        args: transformers.TrainingArguments,
        state: transformers.TrainerState,
        control: transformers.TrainerControl,
        logs: Optional[Dict[str, Any]] = None,
        **kwargs: Any,
    ) -> None:
        """Report the metrics of an evaluation as validation metrics, others as training metrics.

        Evaluations of one step are one report, which is made when training continues or saves.
        """
        logs = logs or {}
        if any(name.startswith(_EVALUATION) for name in logs):
            self._evaluation.update(logs)
            if not self._is_training:
                self._report_evaluation(state)
        elif logs and self.last_train_metrics != state.global_step:
            self.last_train_metrics = state.global_step
            metrics = self._filtered(logs)
            if metrics:
                self.core_context.train.report_training_metrics(state.global_step, metrics)

    def on_step_begin(
        self,
        args: transformers.TrainingArguments,
        state: transformers.TrainerState,
        control: transformers.TrainerControl,
        **kwargs: Any,
    ) -> None:
        """Report the evaluation after the step before."""
        self._report_evaluation(state)

    def on_save(
        self,
        args: transformers.TrainingArguments,
        state: transformers.TrainerState,
        control: transformers.TrainerControl,
        **kwargs: Any,
    ) -> None:
        """Store the checkpoint that the trainer has written, each rank its own files."""
        self._report_evaluation(state)
        if self.last_save != state.global_step:
            self.last_save = state.global_step
            path = os.path.join(args.output_dir, f"checkpoint-{state.global_step}")
            self.core_context.checkpoint.upload(
                path if os.path.isdir(path) else None, self._metadata(state), shard=True
            )
        if self._is_preempted:
            control.should_training_stop = True

    def on_step_end(
        self,
        args: transformers.TrainingArguments,
        state: transformers.TrainerState,
        control: transformers.TrainerControl,
        **kwargs: Any,
    ) -> None:
        """Report the progress, and save and stop if the trial is preempted.

        The trainer calls it after an optimizer step, however many batches that takes.
        """
        self._report_progress(state)
        is_synced = self.core_context.distributed.size == 1 or state.global_step % SYNC_EVERY == 0
        if is_synced or control.should_save:
            self._save_if_preempted(state, control)

    def on_epoch_end(
        self,
        args: transformers.TrainingArguments,
        state: transformers.TrainerState,
        control: transformers.TrainerControl,
        **kwargs: Any,
    ) -> None:
        """As `on_step_end`, at the end of an epoch."""
        self._report_evaluation(state)
        self._save_if_preempted(state, control)

    def _save_if_preempted(
        self, state: transformers.TrainerState, control: transformers.TrainerControl
    ) -> None:
        """Ask for a checkpoint. `on_save` stops the training, since the trainer may not save.

        With `save_strategy="best"`, it saves after an evaluation only if that is the best. It is
        asked again after the next step then.
        """
        if not self._is_preempted and not self.core_context.preempt.should_preempt():
            return
        self._is_preempted = True
        if self.last_save == state.global_step:
            control.should_training_stop = True
        else:
            control.should_save = True

    def _report_progress(self, state: transformers.TrainerState) -> None:
        if state.max_steps > 0:
            self._progress.report(state.global_step / state.max_steps)
            self.last_progress = self._progress.percent

    def _report_evaluation(self, state: transformers.TrainerState) -> None:
        metrics, self._evaluation = self._evaluation, {}
        if not metrics or self.last_eval_metrics == state.global_step:
            return
        self.last_eval_metrics = state.global_step
        time = self.time_metric
        if time in _TIMES and time not in metrics:
            metrics[time] = getattr(state, _TIMES[time])
        self._warn_of_missing(metrics)
        self.core_context.train.report_validation_metrics(
            state.global_step, self._filtered(metrics)
        )

    def _warn_of_missing(self, metrics: Dict[str, Any]) -> None:
        for key, name in (("metric", self.searcher_metric), ("time_metric", self.time_metric)):
            if name is not None and name not in metrics and not self._has_warned:
                self._has_warned = True
                logger.warning(
                    "searcher.%s is %r, which the evaluation does not report; it reports %s",
                    key,
                    name,
                    ", ".join(sorted(metrics)),
                )

    def _filtered(self, metrics: Dict[str, Any]) -> Dict[str, Any]:
        if self.filter_metrics is None:
            return metrics
        needed = (self.searcher_metric, self.time_metric)
        return {
            name: value
            for name, value in metrics.items()
            if name in needed or any(part in name for part in self.filter_metrics)
        }

    def _metadata(self, state: transformers.TrainerState) -> Dict[str, Any]:
        framework = f"transformers-{transformers.__version__}"
        return metadata_of(self.core_context, framework, state.global_step, self.user_data)

    def _check_ranks(self, args: transformers.TrainingArguments) -> None:
        ranks = self.core_context.distributed.size
        if args.world_size != ranks:
            raise ValueError(
                f"the trainer has {args.world_size} processes and core.init() has {ranks} ranks: "
                "pass distributed=core.DistributedContext.from_torch_distributed() to core.init()"
            )
