"""One run of a tracker, as a trial: in a trial of the cluster, detached, or off the cluster."""

from __future__ import annotations

import atexit
import logging
import os
import pathlib
import re
import shutil
import sys
import weakref
from typing import (
    TYPE_CHECKING,
    Any,
    Dict,
    List,
    Mapping,
    MutableMapping,
    Optional,
    Set,
    Tuple,
    Union,
)

from determined import core
from determined._info import get_cluster_info
from determined.common.api import errors
from determined.core import DummyDistributedContext
from determined.core._context import open_context
from determined.core._init import make_dummy_context

if TYPE_CHECKING:
    from determined.experimental import core_v2

logger = logging.getLogger("determined.compat")

_VALIDATION = re.compile(r"(?:val|valid|validation|eval|dev|test)(?:[_/.\- ]|$)")
"""Names that trackers' users give to what they measure on other data than those of training."""
_metadata: MutableMapping[core.Context, Dict[str, Any]] = weakref.WeakKeyDictionary()
_RANKS = ("RANK", "OMPI_COMM_WORLD_RANK", "SLURM_PROCID")


class Recorder:
    """Sends the reports of a tracker to a trial.

    Attributes:
        hparams: the trial's hyperparameters; empty off the cluster.
        place: `trial`, `detached`, `shared` (the context is the script's own), `local` (reports
            are logged) or `none` (nothing is kept).
    """

    def __init__(self, place: str, context: Optional[core.Context]) -> None:
        self.place = place
        self.hparams: Dict[str, Any] = {}
        self.is_resumed = False
        self.experiment_id: Optional[int] = None
        self.trial_id: Optional[int] = None
        self._context = context
        self._searcher_metric: Optional[str] = None
        self._skipped: Set[str] = set()
        if context is None:
            return
        info = context.info
        if info is not None and info.task_type == "TRIAL":
            trial = info.trial
            self.hparams = dict(trial.hparams)
            self.experiment_id, self.trial_id = trial.experiment_id, trial.trial_id
            self.is_resumed = info.latest_checkpoint is not None
            searcher = trial._config.get("searcher") or {}
            self._searcher_metric = searcher.get("metric")
        if place != "shared":
            context.start()
            atexit.register(self.close)

    @property
    def is_open(self) -> bool:
        """Whether its context is open, or it has none because nothing is kept."""
        return self.place == "none" or (self._context is not None and self._context.is_open)

    def report(self, step: int, values: Mapping[str, Any]) -> None:
        """Report numbers at a step; other values are named once and left out.

        A value whose name begins with `val`, `eval`, `dev` or `test`, and the searcher's metric,
        are validations. The others are training metrics.
        """
        if self._context is None:
            return
        training: Dict[str, Any] = {}
        validation: Dict[str, Any] = {}
        for name, value in self._numbers(values):
            (validation if self._is_validation(name) else training)[name] = value
        if training:
            self._context.train.report_training_metrics(step, training)
        if validation:
            self._context.train.report_validation_metrics(step, validation)

    def note(self, **entries: Any) -> None:
        """Set entries of the trial's metadata: its configuration, tags, notes, and summary."""
        if self._context is None:
            return
        metadata = _metadata_of(self._context)
        values = {name: plain(value) for name, value in entries.items()}
        if any(metadata.get(name) != value for name, value in values.items()):
            metadata.update(values)
            self._context.train.set_metadata(metadata)

    def alert(self, title: str, text: str, level: str) -> None:
        if self._context is not None:
            self._context.alert(title, text, level)

    def store(
        self, files: List[Tuple[pathlib.Path, str]], step: int, metadata: Mapping[str, Any]
    ) -> Optional[str]:
        """Store files in a checkpoint; its UUID.

        Args:
            files: each with its path in the checkpoint.
            step: the steps completed.
            metadata: of the checkpoint.

        Raises:
            FileNotFoundError: a file does not exist.
            ValueError: a path leads out of the checkpoint.
        """
        if self._context is None:
            return None
        for source, name in files:
            if not source.exists():
                raise FileNotFoundError(f"{source} does not exist, so it cannot be stored")
            if pathlib.PurePath(name).is_absolute() or ".." in pathlib.PurePath(name).parts:
                raise ValueError(f"{name} leads out of the checkpoint: give a relative path in it")
        whole = {"steps_completed": step, **plain(metadata)}
        with self._context.checkpoint.store_path(whole) as (folder, uuid):
            for source, name in files:
                target = folder / name
                target.parent.mkdir(parents=True, exist_ok=True)
                shutil.copy2(source, target)
        return str(uuid)

    def close(self) -> None:
        """Send what waits. A second call changes nothing."""
        context, self._context = self._context, None
        atexit.unregister(self.close)
        if context is not None:
            context.close()

    def _is_validation(self, name: str) -> bool:
        return name == self._searcher_metric or _VALIDATION.match(name.lower()) is not None

    def _numbers(self, values: Mapping[str, Any]) -> List[Tuple[str, Any]]:
        numbers = []
        for name, value in flat(values).items():
            number = _number(value)
            if number is not None:
                numbers.append((name, number))
            elif value is not None and name not in self._skipped:
                self._skipped.add(name)
                kind = type(value).__name__
                logger.warning("%s is of type %s: only numbers are reported", name, kind)
        return numbers


def open_recorder(config: core_v2.DefaultConfig, *, mode: Optional[str] = None) -> Recorder:
    """The recorder of this process.

    Ranks above 0 record nothing. In a trial, reports go to the trial; elsewhere to an experiment
    of the cluster that the user is logged in to, and without a login to the log.

    Args:
        config: of a detached experiment.
        mode: `offline` logs reports, `disabled` drops them; None and `online` report.
    """
    from determined.experimental import core_v2

    if mode == "disabled" or any(os.environ.get(name, "0") != "0" for name in _RANKS):
        return Recorder("none", None)
    info = get_cluster_info()
    if info is not None and info.task_type == "TRIAL":
        # The other ranks open no context, so nothing may wait for them.
        return Recorder("trial", core.init(distributed=DummyDistributedContext()))
    if mode == "offline":
        return Recorder("local", make_dummy_context())
    hook = sys.excepthook
    try:
        return Recorder("detached", core_v2.init_context(defaults=config))
    except errors.UnauthenticatedException:
        sys.excepthook = hook  # the refusal is not what ends this script
        sys.stderr.write(
            "determined: nobody is logged in, so reports are logged only; 'det user login' lets "
            "them go to a cluster\n"
        )
        return Recorder("local", make_dummy_context())


def shared_recorder() -> Optional[Recorder]:
    """A recorder that reports to the context that the script has open, and does not close it.

    Ranks above 0 record nothing. None if no context is open.
    """
    context = open_context()
    if context is None:
        return None
    if context.distributed.rank > 0:
        return Recorder("none", None)
    return Recorder("shared", context)


def _metadata_of(context: core.Context) -> Dict[str, Any]:
    """The metadata of a trial, of which the recorders of one context set different entries."""
    metadata = _metadata.get(context)
    if metadata is None:
        is_trial = context.info is not None and context.info.task_type == "TRIAL"
        stored = context.train.get_metadata() if is_trial else None
        metadata = _metadata[context] = dict(stored or {})
    return metadata


def flat(values: Mapping[str, Any], prefix: str = "") -> Dict[str, Any]:
    """Values of nested mappings by their path, joined by dots."""
    row: Dict[str, Any] = {}
    for name, value in values.items():
        if isinstance(value, Mapping):
            row.update(flat(value, f"{prefix}{name}."))
        else:
            row[f"{prefix}{name}"] = value
    return row


def _number(value: Any) -> Union[int, float, None]:
    if isinstance(value, (bool, int, float)):
        return value
    item = getattr(value, "item", None)  # a number of NumPy, or a tensor with one element
    if item is None:
        return None
    try:
        number = item()
    except (TypeError, ValueError, RuntimeError):
        return None
    return number if isinstance(number, (bool, int, float)) else None


def plain(value: Any) -> Any:
    """A value as metadata can have it: numbers, text, and lists and mappings of them."""
    if isinstance(value, Mapping):
        return {str(name): plain(each) for name, each in value.items()}
    if isinstance(value, (list, tuple, set)):
        return [plain(each) for each in value]
    if value is None or isinstance(value, str):
        return value
    number = _number(value)
    return str(value) if number is None else number
