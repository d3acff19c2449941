"""The Core API for detached mode: programs outside the cluster that report to a master.

from determined.experimental import core_v2

core_v2.init(defaults=core_v2.DefaultConfig(name="at-home"))
core_v2.train.report_training_metrics(steps_completed=1, metrics={"loss": 0.1})
core_v2.close()

In a trial of the cluster the same calls report to that trial. Between `init` and `close` the parts
of the context (`train`, `checkpoint`, `distributed`, `preempt`, `searcher`, `profiler`, `info`,
`alert`) are attributes of this module.
"""

from __future__ import annotations

import atexit
import contextlib
import dataclasses
import logging
import sys
from typing import TYPE_CHECKING, Any, Dict, Iterator, List, Optional, Type, Union

from determined import core as _core
from determined._info import get_cluster_info
from determined._uuid import new_uuid
from determined.common import storage as _storage
from determined.common.api import errors
from determined.core import DistributedContext as DistributedContext
from determined.core import PreemptMode as PreemptMode
from determined.core import TensorboardMode as TensorboardMode
from determined.core._off_cluster import _detached

if TYPE_CHECKING:
    from determined.common.experimental.determined import Determined

logger = logging.getLogger("determined.core_v2")

PARTS = (
    "train",
    "checkpoint",
    "distributed",
    "preempt",
    "searcher",
    "profiler",
    "experimental",
    "info",
    "alert",
)
DEFAULT_SEARCHER = {"name": "single", "metric": "unmanaged"}
_SUBMITTED = (
    "name",
    "data",
    "description",
    "labels",
    "workspace",
    "project",
    "checkpoint_storage",
    "searcher",
)

_context: Optional[_core.Context] = None


@dataclasses.dataclass
class Config:
    """The configuration of an experiment; None means the default.

    Args:
        hparams: the trial's hyperparameters.
        checkpoint_storage: a path, an address, or a mapping as in a configuration; by default
            the directory `$XDG_DATA_HOME/determined/checkpoints`.
        external_experiment_id: an id of your choice; the same id means the same experiment.
        external_trial_id: an id of your choice; an existing trial resumes.
    """

    name: Optional[str] = None
    hparams: Optional[Dict[str, Any]] = None
    data: Optional[Dict[str, Any]] = None
    description: Optional[str] = None
    labels: Optional[List[str]] = None
    workspace: Optional[str] = None
    project: Optional[str] = None
    checkpoint_storage: Optional[Union[str, Dict[str, Any]]] = None
    searcher: Optional[Dict[str, Any]] = None
    external_experiment_id: Optional[str] = None
    external_trial_id: Optional[str] = None


class DefaultConfig(Config):
    """Values with the lowest precedence."""

    def __init__(self, **kwargs: Any) -> None:
        super().__init__(**kwargs)


class UnmanagedConfig(Config):
    """Values that apply only outside the cluster."""

    def __init__(self, **kwargs: Any) -> None:
        super().__init__(**kwargs)


def init_context(
    *,
    config: Optional[Config] = None,
    defaults: Optional[DefaultConfig] = None,
    unmanaged: Optional[UnmanagedConfig] = None,
    client: Optional[Determined] = None,
    distributed: Optional[DistributedContext] = None,
    checkpoint_storage: Optional[Union[str, Dict[str, Any]]] = None,
    preempt_mode: PreemptMode = PreemptMode.WorkersAskChief,
    tensorboard_mode: TensorboardMode = TensorboardMode.AUTO,
) -> _core.Context:
    """A context for a `with` block; in a trial of the cluster, the trial's context.

    Args:
        config: values with the highest precedence, off the cluster.
        defaults: values with the lowest precedence.
        unmanaged: values that apply off the cluster.
        client: the cluster and user; None for `Determined()`.
        distributed: the ranks of this program; every rank creates a context.
        checkpoint_storage: replaces the configured storage.
        preempt_mode: as in `core.init`.
        tensorboard_mode: as in `core.init`.

    Raises:
        ValueError: `external_trial_id` is set without `external_experiment_id`.
        UnauthenticatedException: no user is logged in.
        APIException: the master refused the configuration.
    """
    info = get_cluster_info()
    if info is not None and info.task_type == "TRIAL":
        return _core.init(
            distributed=distributed,
            checkpoint_storage=checkpoint_storage,
            preempt_mode=preempt_mode,
            tensorboard_mode=tensorboard_mode,
        )
    chosen = _merged(defaults, unmanaged, config)
    if chosen.external_trial_id is not None and chosen.external_experiment_id is None:
        raise ValueError(
            f"external_trial_id is {chosen.external_trial_id!r} without external_experiment_id: "
            "set both, since a trial's id is relative to its experiment"
        )
    with _ends_in_one_line():
        if client is None:
            from determined.common.experimental.determined import Determined

            client = Determined()
        return _detached.make_context(
            client._session,
            _config_of(chosen, checkpoint_storage),
            _detached.ExternalNames(chosen.external_experiment_id, chosen.external_trial_id),
            distributed or _core.DummyDistributedContext(),
            preempt_mode,
            tensorboard_mode,
        )


@contextlib.contextmanager
def _ends_in_one_line() -> Iterator[None]:
    """Let a script that does not catch a refusal of the master end without a traceback.

    The place in the script has nothing to do with a missing login or permission.
    """
    try:
        yield
    except (errors.ForbiddenException, errors.UnauthenticatedException) as raised:
        refusal, others = raised, sys.excepthook

        def report(kind: Type[BaseException], error: BaseException, at: Any) -> None:
            if error is refusal:
                sys.stderr.write(f"determined: {error}\n")
            else:
                others(kind, error, at)

        sys.excepthook = report
        raise


def init(
    *,
    config: Optional[Config] = None,
    defaults: Optional[DefaultConfig] = None,
    unmanaged: Optional[UnmanagedConfig] = None,
    client: Optional[Determined] = None,
    distributed: Optional[DistributedContext] = None,
    checkpoint_storage: Optional[Union[str, Dict[str, Any]]] = None,
    preempt_mode: PreemptMode = PreemptMode.WorkersAskChief,
    tensorboard_mode: TensorboardMode = TensorboardMode.AUTO,
) -> None:
    """Create and start the context of this process; arguments and errors as `init_context`.

    An open context is closed first. A context that is open at process exit is closed then; its
    trial fails if the process does.
    """
    global _context
    if _context is not None:
        logger.warning("core_v2.init was called again; the previous run is closed")
        close()
    made = init_context(
        config=config,
        defaults=defaults,
        unmanaged=unmanaged,
        client=client,
        distributed=distributed,
        checkpoint_storage=checkpoint_storage,
        preempt_mode=preempt_mode,
        tensorboard_mode=tensorboard_mode,
    )
    made.start()
    _context = made
    atexit.register(close)


def close() -> None:
    """Close the context, if one is open: send pending reports and the final state."""
    global _context
    context, _context = _context, None
    atexit.unregister(close)
    if context is not None:
        context.close()


def url_reverse_webui_exp_view() -> str:
    """The URL of this experiment's page.

    Raises:
        RuntimeError: no context is open, or it has no master.
    """
    info = None if _context is None else _context.info
    if info is None:
        raise RuntimeError("no experiment is open: call core_v2.init() first")
    return f"{info.master_url}/det/experiments/{info.trial.experiment_id}"


def __getattr__(name: str) -> Any:
    if name not in PARTS:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    if _context is None:
        raise AttributeError(f"core_v2.{name} exists only between core_v2.init() and close()")
    return getattr(_context, name)


def _merged(*configs: Optional[Config]) -> Config:
    """Merge configurations; later ones take precedence."""
    values: Dict[str, Any] = {}
    for config in configs:
        if config is not None:
            said = dataclasses.asdict(config)
            values.update({name: value for name, value in said.items() if value is not None})
    return Config(**values)


def _config_of(
    chosen: Config, checkpoint_storage: Optional[Union[str, Dict[str, Any]]]
) -> Dict[str, Any]:
    """The configuration to submit."""
    values = {name: getattr(chosen, name) for name in _SUBMITTED}
    submitted = {name: value for name, value in values.items() if value is not None}
    submitted.setdefault("name", f"unmanaged-{new_uuid()[:8]}")
    submitted.setdefault("searcher", dict(DEFAULT_SEARCHER))
    submitted["hyperparameters"] = chosen.hparams or {}
    stored = checkpoint_storage or chosen.checkpoint_storage or _detached.default_storage()
    submitted["checkpoint_storage"] = dict(_storage.of_argument(stored, is_on_cluster=False))
    return submitted
