"""The public client as functions of one session, created by `login` or on first use.

from determined.experimental import client

client.login(master="http://localhost:8080", user="determined", password="…")
experiment = client.create_experiment("config.yaml", "model_dir")
experiment.wait()
"""

from __future__ import annotations

import pathlib
from typing import Any, Dict, Iterable, List, Optional, Sequence, Union

from determined.common.experimental.checkpoint import Checkpoint as Checkpoint
from determined.common.experimental.checkpoint import DownloadMode as DownloadMode
from determined.common.experimental.determined import Determined as Determined
from determined.common.experimental.drawn import DrawnList, Reports
from determined.common.experimental.enums import CheckpointSortBy as CheckpointSortBy
from determined.common.experimental.enums import CheckpointState as CheckpointState
from determined.common.experimental.enums import ExperimentSortBy as ExperimentSortBy
from determined.common.experimental.enums import ExperimentState as ExperimentState
from determined.common.experimental.enums import LogLevel as LogLevel
from determined.common.experimental.enums import OrderBy as OrderBy
from determined.common.experimental.enums import TrialSortBy as TrialSortBy
from determined.common.experimental.enums import TrialState as TrialState
from determined.common.experimental.experiment import Experiment as Experiment
from determined.common.experimental.metrics import TrainingMetrics as TrainingMetrics
from determined.common.experimental.metrics import TrialMetrics as TrialMetrics
from determined.common.experimental.metrics import ValidationMetrics as ValidationMetrics
from determined.common.experimental.model import Model as Model
from determined.common.experimental.model import ModelOrderBy as ModelOrderBy
from determined.common.experimental.model import ModelSortBy as ModelSortBy
from determined.common.experimental.model import ModelVersion as ModelVersion
from determined.common.experimental.project import Project as Project
from determined.common.experimental.resource_pool import ResourcePool as ResourcePool
from determined.common.experimental.trial import Trial as Trial
from determined.common.experimental.user import User as User
from determined.common.experimental.workspace import Workspace as Workspace

CheckpointOrderBy = ExperimentOrderBy = TrialOrderBy = OrderBy
"""Older names."""

_determined: Optional[Determined] = None


def login(
    master: Optional[str] = None,
    user: Optional[str] = None,
    password: Optional[str] = None,
    cert_path: Optional[str] = None,
    cert_name: Optional[str] = None,
    noverify: bool = False,
) -> None:
    """Set the cluster and user of this module's functions; arguments as `Determined`."""
    global _determined
    _determined = Determined(master, user, password, cert_path, cert_name, noverify)


def create_experiment(
    config: Union[str, pathlib.Path, Dict[str, Any]],
    model_dir: Optional[str] = None,
    includes: Optional[Iterable[Union[str, pathlib.Path]]] = None,
    project_id: Optional[int] = None,
    template: Optional[str] = None,
) -> Experiment:
    """See `Determined.create_experiment`."""
    return _session().create_experiment(config, model_dir, includes, project_id, template)


def get_experiment(experiment_id: int) -> Experiment:
    """See `Determined.get_experiment`."""
    return _session().get_experiment(experiment_id)


def list_experiments(
    sort_by: Optional[ExperimentSortBy] = None,
    order_by: Optional[OrderBy] = None,
    experiment_ids: Optional[List[int]] = None,
    labels: Optional[List[str]] = None,
    users: Optional[List[str]] = None,
    states: Optional[List[ExperimentState]] = None,
    name: Optional[str] = None,
    project_id: Optional[int] = None,
) -> DrawnList[Experiment]:
    """See `Determined.list_experiments`."""
    return _session().list_experiments(
        sort_by, order_by, experiment_ids, labels, users, states, name, project_id
    )


def create_user(
    username: str, admin: bool, password: Optional[str] = None, remote: bool = False
) -> User:
    """See `Determined.create_user`."""
    return _session().create_user(username, admin, password, remote)


def get_user_by_id(user_id: int) -> User:
    """See `Determined.get_user_by_id`."""
    return _session().get_user_by_id(user_id)


def get_user_by_name(user_name: str) -> User:
    """See `Determined.get_user_by_name`."""
    return _session().get_user_by_name(user_name)


def get_session_username() -> str:
    """See `Determined.get_session_username`."""
    return _session().get_session_username()


def whoami() -> User:
    """See `Determined.whoami`."""
    return _session().whoami()


def logout() -> None:
    """End the session; the next call creates a new one."""
    global _determined
    session, _determined = _session(), None
    session.logout()


def list_users(active: Optional[bool] = None) -> List[User]:
    """See `Determined.list_users`."""
    return _session().list_users(active)


def get_trial(trial_id: int) -> Trial:
    """See `Determined.get_trial`."""
    return _session().get_trial(trial_id)


def get_checkpoint(uuid: str) -> Checkpoint:
    """See `Determined.get_checkpoint`."""
    return _session().get_checkpoint(uuid)


def get_workspace(name: str) -> Workspace:
    """See `Determined.get_workspace`."""
    return _session().get_workspace(name)


def list_workspaces() -> List[Workspace]:
    """See `Determined.list_workspaces`."""
    return _session().list_workspaces()


def create_workspace(name: str) -> Workspace:
    """See `Determined.create_workspace`."""
    return _session().create_workspace(name)


def delete_workspace(name: str) -> None:
    """See `Determined.delete_workspace`."""
    _session().delete_workspace(name)


def create_model(
    name: str, description: Optional[str] = "", metadata: Optional[Dict[str, Any]] = None
) -> Model:
    """See `Determined.create_model`."""
    return _session().create_model(name, description, metadata)


def get_model(identifier: Union[str, int]) -> Model:
    """See `Determined.get_model`."""
    return _session().get_model(identifier)


def get_model_by_id(model_id: int) -> Model:
    """See `Determined.get_model_by_id`."""
    return _session().get_model_by_id(model_id)


def get_models(
    sort_by: ModelSortBy = ModelSortBy.NAME,
    order_by: OrderBy = OrderBy.ASCENDING,
    name: str = "",
    description: str = "",
) -> DrawnList[Model]:
    """The older name of `list_models`."""
    return _session().list_models(sort_by, order_by, name, description)


def list_models(
    sort_by: ModelSortBy = ModelSortBy.NAME,
    order_by: OrderBy = OrderBy.ASCENDING,
    name: Optional[str] = None,
    description: Optional[str] = None,
    model_id: Optional[int] = None,
    workspace_names: Optional[List[str]] = None,
    workspace_ids: Optional[List[int]] = None,
) -> DrawnList[Model]:
    """See `Determined.list_models`."""
    return _session().list_models(
        sort_by, order_by, name, description, model_id, workspace_names, workspace_ids
    )


def get_model_labels() -> List[str]:
    """See `Determined.get_model_labels`."""
    return _session().get_model_labels()


def list_oauth_clients() -> Sequence[Any]:
    """See `Determined.list_oauth_clients`."""
    return _session().list_oauth_clients()


def add_oauth_client(domain: str, name: str) -> Any:
    """See `Determined.add_oauth_client`."""
    return _session().add_oauth_client(domain, name)


def remove_oauth_client(client_id: str) -> None:
    """See `Determined.remove_oauth_client`."""
    _session().remove_oauth_client(client_id)


def stream_trials_metrics(trial_ids: List[int], group: str) -> Reports[TrialMetrics]:
    """The older name of `iter_trials_metrics`."""
    return _session().iter_trials_metrics(trial_ids, group)


def iter_trials_metrics(trial_ids: List[int], group: str) -> Reports[TrialMetrics]:
    """See `Determined.iter_trials_metrics`."""
    return _session().iter_trials_metrics(trial_ids, group)


def stream_trials_training_metrics(trial_ids: List[int]) -> Reports[TrainingMetrics]:
    """See `Determined.stream_trials_training_metrics`."""
    return _session().stream_trials_training_metrics(trial_ids)


def stream_trials_validation_metrics(trial_ids: List[int]) -> Reports[ValidationMetrics]:
    """See `Determined.stream_trials_validation_metrics`."""
    return _session().stream_trials_validation_metrics(trial_ids)


def _session() -> Determined:
    global _determined
    if _determined is None:
        _determined = Determined()
    return _determined
