"""A Core API context for a program that the cluster did not start (detached mode).

The program names an experiment and a trial, and reports to them. The cluster neither schedules nor
preempts it.
"""

from __future__ import annotations

import json
import os
import pathlib
import tempfile
from typing import TYPE_CHECKING, Any, Dict, NamedTuple, Optional
from urllib.parse import quote

from determined._info import ClusterInfo, RendezvousInfo, TrialInfo
from determined._uuid import new_uuid
from determined.common.api import _retry
from determined.core._context import Context
from determined.core._init import ContextParts, assemble
from determined.core._modes import TensorboardMode
from determined.core._off_cluster._exit_monitor import ExitMonitor
from determined.core._off_cluster._heartbeat import _Heartbeat
from determined.core._off_cluster._log_shipper import LogShipper
from determined.core._preempt import DummyPreemptContext, PreemptMode

if TYPE_CHECKING:
    from determined.common.api._session import Session
    from determined.core._distributed import DistributedContext

AGENT_ID = "unmanaged"


class ExternalNames(NamedTuple):
    """External ids of the experiment and the trial; None creates a new one."""

    experiment: Optional[str] = None
    trial: Optional[str] = None


class DetachedRun(NamedTuple):
    """The run that this program starts; every rank gets a copy."""

    experiment_id: int
    trial_id: int
    task_id: str
    run_id: int
    steps_completed: int
    latest_checkpoint: Optional[str]
    cluster_id: str
    seed: int


def default_storage() -> Dict[str, Any]:
    """The default checkpoint storage: `$XDG_DATA_HOME/determined/checkpoints`."""
    home = os.environ.get("XDG_DATA_HOME") or os.path.expanduser("~/.local/share")
    return {
        "type": "directory",
        "container_path": os.path.join(home, "determined", "checkpoints"),
    }


def make_context(
    session: Session,
    config: Dict[str, Any],
    names: ExternalNames,
    dist: DistributedContext,
    preempt_mode: PreemptMode,
    tensorboard_mode: TensorboardMode,
) -> Context:
    """Start a run of a detached trial, and make its context.

    Args:
        session: a user's session. A copy with a task's retry policy is used.
        config: the configuration; `hyperparameters` has the values of the trial.
        names: an existing trial resumes from its latest checkpoint.
        dist: the program's ranks. Rank 0 calls the master and broadcasts the result.
        preempt_mode: validated only; a detached trial is never preempted.
        tensorboard_mode: as in `core.init`.

    Raises:
        APIException: the master refused the configuration or the trial.
        RuntimeError: rank 0 could not start the run.
    """
    task_session = session.with_retry(_retry.task_policy(os.environ))
    run = _agree_on_run(task_session, config, names, dist)
    info = _info_of(task_session, run, config, dist)
    stored = dict(config["checkpoint_storage"])
    parts = ContextParts(
        info=info,
        session=task_session,
        distributed=dist,
        storage=stored,
        tensorboard_mode=tensorboard_mode,
        tensorboard_path=pathlib.Path(
            tempfile.gettempdir(), f"tensorboard-{run.trial_id}-{new_uuid()}"
        ),
    )
    context = assemble(parts, DummyPreemptContext(dist, preempt_mode))
    context._scratch = parts.tensorboard_path
    context._exit_monitor = ExitMonitor()
    context._log_shipper = LogShipper(task_session, run.task_id, dist.rank)
    if dist.rank == 0:
        context._heartbeat = _Heartbeat(task_session, run.trial_id)
    return context


def _agree_on_run(
    session: Session, config: Dict[str, Any], names: ExternalNames, dist: DistributedContext
) -> DetachedRun:
    if dist.rank > 0:
        received = dist.broadcast(None)
        if isinstance(received, str):
            raise RuntimeError(f"rank 0 could not start the run: {received}")
        return DetachedRun(*received)
    try:
        run = _begin(session, config, names)
    except Exception as error:
        dist.broadcast(str(error) or type(error).__name__)
        raise
    dist.broadcast(list(run))
    return run


def _begin(session: Session, config: Dict[str, Any], names: ExternalNames) -> DetachedRun:
    created: Dict[str, Any] = {"config": json.dumps(config), "unmanaged": True}
    if names.experiment is None:
        answer = session.post(
            "/api/v1/experiments", json=created, headers={"Idempotency-Key": new_uuid()}
        )
    else:
        name = quote(names.experiment, safe="")
        answer = session.put(f"/api/v1/experiments/by-external-id/{name}", json=created)
    body = answer.json()
    experiment_id = int(body["experiment"]["id"])
    reproducibility = (body.get("config") or {}).get("reproducibility") or {}
    trial = {
        "experimentId": experiment_id,
        "hparams": _values_of(config.get("hyperparameters") or {}),
        "unmanaged": True,
    }
    if names.trial is None:
        answer = session.post("/api/v1/trials", json=trial)
    else:
        put = {"createTrialRequest": trial, "externalTrialId": names.trial}
        answer = session.put("/api/v1/trials", json=put)
    made = answer.json()["trial"]
    start = session.post(
        f"/api/v1/trials/{made['id']}/start", json={"trialId": made["id"], "resume": True}
    ).json()
    return DetachedRun(
        experiment_id=experiment_id,
        trial_id=int(made["id"]),
        task_id=str(made["taskId"]),
        run_id=int(start["trialRunId"]),
        steps_completed=int(start.get("stepsCompleted") or 0),
        latest_checkpoint=start.get("latestCheckpoint") or None,
        cluster_id=str(session.get("/api/v1/master").json()["clusterId"]),
        seed=int(reproducibility.get("experiment_seed") or 0),
    )


def _info_of(
    session: Session, run: DetachedRun, config: Dict[str, Any], dist: DistributedContext
) -> ClusterInfo:
    trial = TrialInfo(
        trial_id=run.trial_id,
        experiment_id=run.experiment_id,
        trial_seed=run.seed,
        hparams=_values_of(config.get("hyperparameters") or {}),
        config=config,
        steps_completed=run.steps_completed,
        trial_run_id=run.run_id,
    )
    return ClusterInfo(
        master_url=session.master,
        cluster_id=run.cluster_id,
        agent_id=AGENT_ID,
        slot_ids=[],
        task_id=run.task_id,
        allocation_id=run.task_id,
        session_token=session.token,
        task_type="TRIAL",
        latest_checkpoint=run.latest_checkpoint,
        trial_info=trial,
        rendezvous_info=RendezvousInfo(["127.0.0.1"], 0, [dist.size]),
    )


def _values_of(hyperparameters: Dict[str, Any]) -> Dict[str, Any]:
    """Hyperparameter values; `{type: const, val: X}` becomes X."""
    return {
        name: value["val"]
        if isinstance(value, dict) and value.get("type") == "const" and "val" in value
        else value
        for name, value in hyperparameters.items()
    }
