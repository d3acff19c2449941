"""A logger of Lightning that reports to an experiment, on the cluster or off it."""

from __future__ import annotations

from argparse import Namespace
from typing import TYPE_CHECKING, Any, Dict, Mapping, Optional, Union

from determined.experimental import core_v2
from determined.lightning._lightning import lightning

if TYPE_CHECKING:
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

    @property
    def experiment(self) -> None:
        """None: the parts of the context are attributes of `core_v2`, such as `core_v2.train`."""
        return

    @property
    def name(self) -> Optional[str]:
        """The id of the experiment; None before the first report."""
        return str(core_v2.info.trial.experiment_id) if self._has_trial() else None

    @property
    def version(self) -> Optional[Union[int, str]]:
        """The id of the trial; None before the first report."""
        return int(core_v2.info.trial.trial_id) if self._has_trial() else None

    def log_hyperparams(self, params: Union[Mapping[str, Any], Namespace]) -> None:
        """Take the hyperparameters of a new experiment off the cluster.

        In a trial of the cluster, and after the first report, they are those of the experiment.
        """
        if not _is_chief():
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
        if not _is_chief():
            return
        self._open()
        step = self._step if step is None else int(step)
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
        if self._is_open and _is_chief():
            self._report()

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

    def _has_trial(self) -> bool:
        return core_v2._context is not None and core_v2.info is not None

    def _report(self) -> None:
        groups, self._metrics = self._metrics, {}
        for group, metrics in groups.items():
            if group == "training":
                core_v2.train.report_training_metrics(max(0, self._step), metrics)
            else:
                core_v2.train.report_metrics(group, max(0, self._step), metrics)


def _is_chief() -> bool:
    """Whether this process is rank 0, which alone reports; there is one rank before a strategy."""
    return getattr(lightning.utilities.rank_zero_only, "rank", None) in (None, 0)


def _group_of(name: str) -> str:
    return next((g for start, g in _GROUPS.items() if name.startswith(start)), "training")


def _plain(values: Mapping[str, Any]) -> Dict[str, Any]:
    """Values that a configuration can have; others as text."""
    kinds = (bool, int, float, str, type(None), list, dict)
    return {str(name): v if isinstance(v, kinds) else str(v) for name, v in values.items()}
