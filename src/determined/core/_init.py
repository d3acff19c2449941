"""Making a Core API context for where this process runs."""

from __future__ import annotations

import logging
import os
import pathlib
from typing import TYPE_CHECKING, Any, Dict, Optional, Union

from determined._info import ClusterInfo, get_cluster_info
from determined.common import storage
from determined.common.api import errors
from determined.core._checkpoint import CheckpointContext, DummyCheckpointContext
from determined.core._context import Context
from determined.core._distributed import DistributedContext, DummyDistributedContext
from determined.core._experimental import ExperimentalCoreContext
from determined.core._metrics import _MetricsContext
from determined.core._preempt import DummyPreemptContext, PreemptContext, PreemptMode
from determined.core._profiler import ProfilerContext
from determined.core._searcher import (
    DummySearcherContext,
    SearcherContext,
    length_of,
    units_of,
)
from determined.core._tensorboard_mode import TensorboardMode
from determined.core._train import DummyTrainContext, TrainContext

if TYPE_CHECKING:
    from determined.common.api._session import BaseSession

logger = logging.getLogger("determined.core")

Storage = Optional[Union[str, Dict[str, Any]]]


def init(
    *,
    distributed: Optional[DistributedContext] = None,
    checkpoint_storage: Storage = None,
    preempt_mode: PreemptMode = PreemptMode.WorkersAskChief,
    tensorboard_mode: TensorboardMode = TensorboardMode.AUTO,
) -> Context:
    """A context for this process: of its trial on a cluster, of dummies elsewhere.

    Args:
        distributed: the trial's ranks; required when the trial has several slots.
        checkpoint_storage: in place of the configuration's: a path, an address, or a mapping
            like the configuration's.
        preempt_mode: which ranks ask whether to leave.
        tensorboard_mode: who brings TensorBoard's files to the storage.

    Raises:
        ValueError: several slots and no `distributed`, or storage that cannot be used.
    """
    info = get_cluster_info()
    if info is None or info.task_type != "TRIAL":
        if info is not None:
            logger.warning("a task of type %s reports to nobody", info.task_type)
        return make_dummy_context(distributed, checkpoint_storage, preempt_mode)
    slots = sum(info.container_slot_counts)
    if distributed is None and slots > 1:
        raise ValueError(
            f"this trial has {slots} slots, so core.init() needs to know its ranks: pass "
            "distributed=DistributedContext.from_torch_distributed() (or another of its from_ "
            "functions), and start the script with a launcher such as "
            "'python3 -m determined.launch.simple python3 train.py'"
        )
    return _make_managed(
        info,
        distributed or DummyDistributedContext(),
        checkpoint_storage,
        preempt_mode,
        tensorboard_mode,
    )


def make_dummy_context(
    distributed: Optional[DistributedContext] = None,
    checkpoint_storage: Storage = None,
    preempt_mode: PreemptMode = PreemptMode.WorkersAskChief,
) -> Context:
    """A context off the cluster: it logs what would be reported, and stores checkpoints.

    Without `checkpoint_storage` they go below `$XDG_DATA_HOME/determined/checkpoints`
    (`~/.local/share` if unset).
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
    manager = storage.build(stored)
    session = _session_of(info)
    metrics = _MetricsContext(session, trial.trial_id, trial._trial_run_id)
    tensorboard = _tensorboard_of(info, stored, dist, tensorboard_mode)
    checkpoint = CheckpointContext(
        dist,
        manager,
        session,
        info.task_id,
        info.allocation_id,
        tensorboard_mode,
        tensorboard,
        _start_run(session, trial.trial_id, stored) if dist.rank == 0 else None,
    )
    checkpoint._before_report = metrics.flush
    writer = None
    if tensorboard is not None and tensorboard_mode is TensorboardMode.AUTO:
        from determined.tensorboard import get_metric_writer

        writer = get_metric_writer(tensorboard.base_path)
    train = TrainContext(
        session,
        trial.trial_id,
        trial.experiment_id,
        metrics,
        dist,
        tensorboard_mode,
        tensorboard,
        writer,
    )
    return Context(
        checkpoint=checkpoint,
        _session=session,
        distributed=dist,
        preempt=PreemptContext(session, info.allocation_id, dist, preempt_mode),
        train=train,
        searcher=_searcher_of(config.get("searcher") or {}, session, dist, trial.trial_id),
        info=info,
        experimental=ExperimentalCoreContext(session, trial.trial_id),
        profiler=ProfilerContext(info.agent_id, metrics, dist),
        _metrics=metrics,
        _tensorboard_manager=tensorboard,
    )


def _session_of(info: ClusterInfo) -> BaseSession:
    from determined.common.api import _retry
    from determined.common.api._task_session import TaskSession
    from determined.common.api.certs import Cert

    trial_id = info.trial.trial_id
    return TaskSession(
        info.master_url,
        info.session_token,
        Cert.from_file(info.master_cert_file, info.master_cert_name),
        _retry.task_policy(os.environ),
        (
            f"/api/v1/allocations/{info.allocation_id}/",
            f"/api/v1/trials/{trial_id}/",
            f"/api/v1/runs/{trial_id}/",
            "/api/v1/runs/start",
        ),
    )


def _start_run(session: BaseSession, trial_id: int, stored: Dict[str, Any]) -> Optional[int]:
    """Tell the master which storage this run uses; return that storage's number there."""
    kept = {k: v for k, v in stored.items() if not k.startswith("save_")}
    try:
        answer = session.post(
            "/api/v1/runs/start", json={"runId": trial_id, "checkpointStorage": kept}
        )
    except errors.APIException as error:
        if error.status_code not in (404, 501):
            raise
        return None  # a master that keeps no list of storages
    number = (answer.json() or {}).get("storageId")
    return None if number is None else int(number)


def _tensorboard_of(
    info: ClusterInfo, stored: Dict[str, Any], dist: DistributedContext, mode: TensorboardMode
) -> Any:
    if mode is TensorboardMode.AUTO and dist.rank > 0:
        return None
    from determined import tensorboard

    trial = info.trial
    path: pathlib.Path = tensorboard.get_sync_path(
        info.cluster_id, str(trial.experiment_id), str(trial.trial_id)
    )
    return tensorboard.build(stored, path)


def _searcher_of(
    searcher: Dict[str, Any], session: BaseSession, dist: DistributedContext, trial_id: int
) -> Optional[SearcherContext]:
    length = length_of(searcher)
    if length is None:
        return None
    return SearcherContext(session, dist, trial_id, length, units_of(searcher))
