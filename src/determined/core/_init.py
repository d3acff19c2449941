"""Creation of Core API contexts, on and off the cluster."""

from __future__ import annotations

import logging
import os
import pathlib
from typing import TYPE_CHECKING, Any, Dict, NamedTuple, Optional, Union

from determined._info import ClusterInfo, get_cluster_info
from determined.common import storage
from determined.common.api import errors
from determined.core._checkpoint import CheckpointContext, DummyCheckpointContext
from determined.core._context import Context
from determined.core._distributed import DistributedContext, DummyDistributedContext
from determined.core._experimental import ExperimentalCoreContext
from determined.core._metrics import _MetricsContext
from determined.core._modes import TensorboardMode, choice
from determined.core._off_cluster._dummy_train import DummyTrainContext
from determined.core._preempt import DummyPreemptContext, PreemptContext, PreemptMode
from determined.core._profiler import ProfilerContext
from determined.core._searcher import (
    DummySearcherContext,
    SearcherContext,
    length_of,
    units_of,
)
from determined.core._train import TrainContext

if TYPE_CHECKING:
    from determined.common.api._session import BaseSession
    from determined.tensorboard import BatchMetricWriter, TensorboardManager

logger = logging.getLogger("determined.core")

Storage = Optional[Union[str, "os.PathLike[str]", Dict[str, Any]]]


def init(
    *,
    distributed: Optional[DistributedContext] = None,
    checkpoint_storage: Storage = None,
    preempt_mode: PreemptMode = PreemptMode.WorkersAskChief,
    tensorboard_mode: TensorboardMode = TensorboardMode.AUTO,
) -> Context:
    """A context for this process: its trial's on a cluster, a dummy elsewhere.

    A generic task gets a dummy context that can be preempted.

    Args:
        distributed: the trial's ranks; required if the trial has several slots.
        checkpoint_storage: replaces the configured storage: a path, an address, or a mapping
            as in the configuration.
        preempt_mode: which ranks check for preemption.
        tensorboard_mode: how TensorBoard files get to the storage.

    Raises:
        ValueError: the trial has several slots and `distributed` is missing, the storage cannot
            be used, or a mode does not exist.
    """
    mode = choice(TensorboardMode, tensorboard_mode, "tensorboard_mode")
    info = get_cluster_info()
    if info is None or info.task_type != "TRIAL":
        context = make_dummy_context(distributed, checkpoint_storage, preempt_mode)
        context.info = info
        if info is not None:
            logger.warning("a task of type %s has no trial to report to", info.task_type)
        if info is not None and info.task_type == "GENERIC":
            _enable_preemption(context, info, preempt_mode)
        return context
    slots = sum(info.container_slot_counts)
    if distributed is None and slots > 1:
        raise ValueError(
            f"this trial has {slots} slots, so core.init() needs its ranks: pass "
            "distributed=DistributedContext.from_torch_distributed() (or another of its from_ "
            "functions), and start the script with a launcher such as "
            "'python3 -m determined.launch.simple python3 train.py'"
        )
    return _make_managed(
        info,
        distributed or DummyDistributedContext(),
        checkpoint_storage,
        preempt_mode,
        mode,
    )


def _enable_preemption(context: Context, info: ClusterInfo, preempt_mode: PreemptMode) -> None:
    """Let a generic task check for preemption; without the ready call the master kills it."""
    session, dist = _session_of(info), context.distributed
    if dist.rank == 0:
        session.post(f"/api/v1/allocations/{info.allocation_id}/ready", json={})
    context.preempt = PreemptContext(session, info.allocation_id, dist, preempt_mode)
    context._session = session


def make_dummy_context(
    distributed: Optional[DistributedContext] = None,
    checkpoint_storage: Storage = None,
    preempt_mode: PreemptMode = PreemptMode.WorkersAskChief,
) -> Context:
    """A context off the cluster, which logs reports and stores checkpoints.

    The default storage is `$XDG_DATA_HOME/determined/checkpoints` (`~/.local/share` if unset).
    """
    dist = distributed or DummyDistributedContext()
    if checkpoint_storage is None:
        home = os.environ.get("XDG_DATA_HOME") or os.path.expanduser("~/.local/share")
        checkpoint_storage = os.path.join(home, "determined", "checkpoints")
    manager = storage.build(storage.of_argument(checkpoint_storage, is_on_cluster=False))
    return Context(
        checkpoint=DummyCheckpointContext(dist, manager),
        distributed=dist,
        preempt=DummyPreemptContext(dist, preempt_mode),
        train=DummyTrainContext(),
        searcher=DummySearcherContext(dist),
    )


def _make_managed(
    info: ClusterInfo,
    dist: DistributedContext,
    checkpoint_storage: Storage,
    preempt_mode: PreemptMode,
    tensorboard_mode: TensorboardMode,
) -> Context:
    trial = info.trial
    config = trial._config
    stored: Dict[str, Any] = dict(config.get("checkpoint_storage") or {})
    if checkpoint_storage is not None:
        stored = dict(storage.of_argument(checkpoint_storage, is_on_cluster=True))
    number = trial.trial_id
    session = _session_of(
        info, f"/api/v1/trials/{number}/", f"/api/v1/runs/{number}/", "/api/v1/runs/start"
    )
    preempt = PreemptContext(session, info.allocation_id, dist, preempt_mode)
    return assemble(ContextParts(info, session, dist, stored, tensorboard_mode), preempt)


class ContextParts(NamedTuple):
    """The parts of a context that reports to a master."""

    info: ClusterInfo
    session: BaseSession
    distributed: DistributedContext
    storage: Dict[str, Any]
    """The configuration's `checkpoint_storage`."""
    tensorboard_mode: TensorboardMode
    tensorboard_path: Optional[pathlib.Path] = None
    """The local directory of TensorBoard files; None for the task's own."""

    @property
    def is_detached(self) -> bool:
        """Whether the process runs outside the cluster, without an allocation."""
        return self.info.allocation_id == self.info.task_id


def assemble(parts: ContextParts, preempt: PreemptContext) -> Context:
    """A context that reports to the master."""
    info, session, dist = parts.info, parts.session, parts.distributed
    trial = info.trial
    metrics = _MetricsContext(session, trial.trial_id, trial._trial_run_id)
    tensorboard = _tensorboard_of(parts)
    checkpoint = CheckpointContext(
        dist,
        storage.build(parts.storage),
        session,
        info.task_id,
        None if parts.is_detached else info.allocation_id,
        parts.tensorboard_mode,
        tensorboard,
        _start_run(session, trial.trial_id, parts.storage) if dist.rank == 0 else None,
    )
    checkpoint._before_report = metrics.flush
    train = TrainContext(
        session,
        trial.trial_id,
        trial.experiment_id,
        metrics,
        dist,
        parts.tensorboard_mode,
        tensorboard,
        _writer_of(parts, tensorboard),
    )
    searcher = trial._config.get("searcher") or {}
    return Context(
        checkpoint=checkpoint,
        _session=session,
        distributed=dist,
        preempt=preempt,
        train=train,
        searcher=_searcher_of(searcher, session, dist, trial.trial_id),
        info=info,
        experimental=ExperimentalCoreContext(session, trial.trial_id),
        profiler=ProfilerContext(info.agent_id, metrics, dist),
        _metrics=metrics,
        _tensorboard_manager=tensorboard,
    )


def _session_of(info: ClusterInfo, *paths: str) -> BaseSession:
    """A session with the task's token, valid for its allocation and for `paths`."""
    from determined.common.api import _retry
    from determined.common.api._task_session import TaskSession
    from determined.common.api.certs import Cert

    return TaskSession(
        info.master_url,
        info.session_token,
        Cert.from_file(info.master_cert_file, info.master_cert_name),
        _retry.task_policy(os.environ),
        (f"/api/v1/allocations/{info.allocation_id}/", *paths),
    )


def _start_run(session: BaseSession, trial_id: int, stored: Dict[str, Any]) -> Optional[int]:
    """Report the storage of this run; return the id that the master gives it."""
    kept = {k: v for k, v in stored.items() if not k.startswith("save_")}
    try:
        answer = session.post(
            "/api/v1/runs/start", json={"runId": trial_id, "checkpointStorage": kept}
        )
    except errors.APIException as error:
        if error.status_code not in (404, 501):
            raise
        return None  # a master without this route
    number = (answer.json() or {}).get("storageId")
    return None if number is None else int(number)


def _tensorboard_of(parts: ContextParts) -> Optional[TensorboardManager]:
    """One manager per container, whose ranks share a directory; in MANUAL one per rank."""
    is_auto = parts.tensorboard_mode is TensorboardMode.AUTO
    if is_auto and parts.distributed.local_rank > 0:
        return None
    from determined.tensorboard import _manager

    trial = parts.info.trial
    path: pathlib.Path = _manager.get_sync_path(
        parts.info.cluster_id, str(trial.experiment_id), str(trial.trial_id)
    )
    return _manager.build(
        parts.storage, path, base_path=parts.tensorboard_path, sync_on_close=is_auto
    )


def _writer_of(
    parts: ContextParts, manager: Optional[TensorboardManager]
) -> Optional[BatchMetricWriter]:
    is_auto = parts.tensorboard_mode is TensorboardMode.AUTO
    if manager is None or not is_auto or parts.distributed.rank > 0:
        return None
    from determined.tensorboard import get_metric_writer

    return get_metric_writer(manager.base_path)


def _searcher_of(
    searcher: Dict[str, Any], session: BaseSession, dist: DistributedContext, trial_id: int
) -> Optional[SearcherContext]:
    length = length_of(searcher)
    if length is None:
        return None
    return SearcherContext(session, dist, trial_id, length, units_of(searcher))
