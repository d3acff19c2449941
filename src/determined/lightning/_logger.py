"""A logger of Lightning that reports to an experiment, on the cluster or off it."""

from __future__ import annotations

from argparse import Namespace
from typing import TYPE_CHECKING, Any, Dict, Iterable, Mapping, Optional, Union

from determined.experimental import core_v2
from determined.lightning._lightning import lightning

if TYPE_CHECKING:
    from determined import core
    from determined._info import TrialInfo
    from determined.common.experimental.determined import Determined

EPOCH = "epoch"
"""Lightning adds it to each call; it is a metric of the groups that the others are of."""
_GROUPS = {"val": "validation", "test": "test"}
"""Groups of metrics by the beginning of their names."""


class DetLogger(lightning.loggers.logger.Logger):
    """Reports what a Lightning trainer logs.

    In a trial of the cluster it reports to that trial. Elsewhere the first report creates an
    experiment in detached mode (`core_v2.init`), whose hyperparameters are those that Lightning
    logs. Metrics whose names begin with `val` are validation metrics, those with `test` are of the
    group `test`, and all others are training metrics. All metrics of one step are one report,
    made when a later step is logged and at the end of `fit`, `validate` or `test`. Rank 0 reports.

    Args:
        defaults, unmanaged, config, client: as `core_v2.init`.
    """

    def __init__(
        self,
        *,
        defaults: Optional[core_v2.DefaultConfig] = None,
        unmanaged: Optional[core_v2.UnmanagedConfig] = None,
        config: Optional[core_v2.Config] = None,
        client: Optional[Determined] = None,
    ) -> None:
        super().__init__()
        self._defaults = defaults
        self._unmanaged = unmanaged
        self._config = config
        self._client = client
        self._is_open = False
        self._step = -1
        self._metrics: Dict[str, Dict[str, Any]] = {}
        """Metrics of this step by group."""
        self._own: Optional[core.Context] = None
        """The context of a `DetCallback`; None for that of `core_v2`."""
        self._trainer: Any = None
        """The trainer of that callback, whose own count of steps is reported."""
        self._time_metric: Optional[str] = None
        self._reported: Dict[str, int] = {}
        """The last step that was reported, by group."""

    @property
    def experiment(self) -> None:
        """None: the parts of the context are attributes of `core_v2`, such as `core_v2.train`."""
        return

    @property
    def name(self) -> Optional[str]:
        """The id of the experiment; None before the first report."""
        trial = self._trial()
        return None if trial is None else str(trial.experiment_id)

    @property
    def version(self) -> Optional[Union[int, str]]:
        """The id of the trial; None before the first report."""
        trial = self._trial()
        return None if trial is None else int(trial.trial_id)

    def log_hyperparams(self, params: Union[Mapping[str, Any], Namespace]) -> None:
        """Take the hyperparameters of a new experiment off the cluster.

        In a trial of the cluster, and after the first report, they are those of the experiment.
        """
        if not is_chief():
            return
        values = vars(params) if isinstance(params, Namespace) else dict(params or {})
        if not self._is_open and values:
            defaults = self._defaults or core_v2.DefaultConfig()
            defaults.hparams = {**_plain(values), **(defaults.hparams or {})}
            self._defaults = defaults
        self._open()

    def log_metrics(self, metrics: Mapping[str, Any], step: Optional[int]) -> None:
        """Keep the metrics of a step; report those of the step before.

        Args:
            metrics: values by name.
            step: the trainer's own count of steps; None for that of the last call.
        """
        if not is_chief():
            return
        self._open()
        step = self._step if step is None else int(step)
        if self._trainer is not None:
            step = self._trainer.global_step
        if step != self._step:
            self._report()
            self._step = step
        groups = {name: _group_of(name) for name in metrics if name != EPOCH}
        for name, value in metrics.items():
            for group in {groups[name]} if name != EPOCH else set(groups.values()):
                self._metrics.setdefault(group, {})[name] = value

    def save(self) -> None:
        """Do nothing: the trainer still logs metrics of this step."""

    def finalize(self, status: str) -> None:
        """Report the last step. The end of the process ends the experiment, as an error if it is.

        Args:
            status: how the trainer ended.
        """
        if self._is_open and is_chief():
            self._report()

    def _bind(self, core_context: core.Context, trainer: Any, time_metric: Optional[str]) -> None:
        """Report to this context, by the steps that the trainer's checkpoints have.

        Each validation has the searcher's `time_metric`, if the trainer counts it.
        """
        self._is_open = True
        self._own, self._trainer, self._time_metric = core_context, trainer, time_metric

    def _open(self) -> None:
        if not self._is_open:
            self._is_open = True
            if core_v2._context is None:
                core_v2.init(
                    config=self._config,
                    defaults=self._defaults,
                    unmanaged=self._unmanaged,
                    client=self._client,
                )

    def _trial(self) -> Optional[TrialInfo]:
        context = self._own or core_v2._context
        info = None if context is None else context.info
        return None if info is None else info.trial

    def _report(self, groups: Optional[Iterable[str]] = None) -> None:
        """Report the metrics of this step: of these groups, or of all."""
        train = core_v2.train if self._own is None else self._own.train
        step = max(0, self._step)
        for group in list(self._metrics) if groups is None else groups:
            metrics = self._metrics.pop(group, None)
            if metrics is None:
                continue
            if self._own is not None and self._reported.get(group) == step:
                continue  # such as a validation of the trained model after `fit`
            self._reported[group] = step
            if group == "training":
                train.report_training_metrics(step, metrics)
            else:
                train.report_metrics(group, step, {**metrics, **self._times(group)})

    def _times(self, group: str) -> Dict[str, Any]:
        """The searcher's time of a validation."""
        if group != "validation" or self._trainer is None:
            return {}
        if self._time_metric == "epochs":
            return {"epochs": self._trainer.current_epoch + 1}
        return {self._time_metric: self._step} if self._time_metric in ("batches", "steps") else {}


def is_chief() -> bool:
    """Whether this process is rank 0, which alone reports; there is one rank before a strategy."""
    return getattr(lightning.utilities.rank_zero_only, "rank", None) in (None, 0)


def _group_of(name: str) -> str:
    return next((g for start, g in _GROUPS.items() if name.startswith(start)), "training")


def _plain(values: Mapping[str, Any]) -> Dict[str, Any]:
    """Values that a configuration can have; others as text."""
    kinds = (bool, int, float, str, type(None), list, dict)
    return {str(name): v if isinstance(v, kinds) else str(v) for name, v in values.items()}
