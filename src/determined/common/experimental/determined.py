"""The main class of the public client."""

from __future__ import annotations

import os
import pathlib
from typing import Any, Dict, Iterable, List, Optional, Sequence, Union

from determined.common import config_text, context, master_contexts, submit, text_file
from determined.common.api import authentication, certs, errors
from determined.common.experimental import (
    checkpoint,
    drawn,
    experiment,
    lists,
    metrics,
    registry,
    trial,
)
from determined.common.experimental import user as users
from determined.common.experimental import workspace as workspaces
from determined.common.experimental.enums import ExperimentSortBy, ExperimentState, OrderBy
from determined.errors import EnterpriseOnlyError

PathLike = Union[str, "os.PathLike[str]"]
_UNUSABLE = (config_text.ConfigTextError, context.ContextError, text_file.TextFileError)


class Determined(registry.Registry):
    """A session with a cluster.

    Args:
        master: its address; None for DET_MASTER, else the current context of `det context`, else
            `http://localhost:8080`.
        user: the user; None for DET_USER or the user logged in with `det user login`.
        password: the user's; None for DET_PASS or the stored token.
        cert_path: a PEM file with the certificates to trust.
        cert_name: the name in the master's certificate.
        noverify: trust any certificate.

    Raises:
        UnauthenticatedException: no user is logged in, or the password is wrong.
        MasterNotFoundException: there is no response from the address.
    """

    def __init__(
        self,
        master: Optional[str] = None,
        user: Optional[str] = None,
        password: Optional[str] = None,
        cert_path: Optional[str] = None,
        cert_name: Optional[str] = None,
        noverify: bool = False,
    ) -> None:
        trust = certs.cert_of_environment()
        if cert_path or cert_name or noverify:
            trust = certs.Cert.from_file(certs.NOVERIFY if noverify else cert_path, cert_name)
        self._session = authentication.resolve(
            master or master_contexts.default_master().address,
            user=user,
            password=password,
            options=authentication.Options(cert=trust),
        )

    def whoami(self) -> users.User:
        """The user of this session."""
        return self._user(self._session.get("/api/v1/me").json()["user"])

    def get_session_username(self) -> str:
        """The name of the user of this session."""
        return self._session.username or str(self.whoami().username)

    def logout(self) -> None:
        """End this session."""
        authentication.logout(self._session)

    def create_user(
        self, username: str, admin: bool, password: Optional[str] = None, remote: bool = False
    ) -> users.User:
        """Create a user.

        Raises:
            ValueError: the user is not remote and has no password, or the master refuses it.
        """
        if not password and not remote:
            raise ValueError(f"user {username!r} needs a password that is not blank")
        fields = {"username": username, "admin": admin, "active": True, "remote": remote}
        body: Dict[str, Any] = {"user": fields}
        if password:
            body.update(authentication.new_password(self._session, password))
        return self._user(self._session.post("/api/v1/users", json=body).json()["user"])

    def get_user_by_id(self, user_id: int) -> users.User:
        return self._user(self._session.get(f"/api/v1/users/{user_id}").json()["user"])

    def get_user_by_name(self, user_name: str) -> users.User:
        path = f"/api/v1/users/{user_name}/by-username"
        return self._user(self._session.get(path).json()["user"])

    def list_users(self, active: Optional[bool] = None) -> List[users.User]:
        """All users, or only active or inactive ones."""
        found = lists.iterate(self._session, "/api/v1/users", "users", {"active": active})
        return [self._user(body) for body in found]

    def create_experiment(
        self,
        config: Union[str, pathlib.Path, Dict[str, Any]],
        model_dir: Optional[PathLike] = None,
        includes: Optional[Iterable[PathLike]] = None,
        project_id: Optional[int] = None,
        template: Optional[str] = None,
    ) -> experiment.Experiment:
        """Create and activate an experiment.

        Args:
            config: a mapping, or the path of a YAML file.
            model_dir: the directory with its code.
            includes: further files and directories.

        Raises:
            ValueError: the config is not a mapping of plain values, its file is not UTF-8, or the
                directory cannot be sent.
            OSError: the config file cannot be read.
            BadRequestException: the master refused it.
        """
        try:
            text = _text_of(config)
            files = context.read(model_dir, includes or ())
        except _UNUSABLE as error:
            raise ValueError(str(error)) from error
        new = submit.Submission(text, files, project_id=project_id, template=template)
        body = submit.create(self._session, new)
        return self._experiment({**body["experiment"], "config": body.get("config")})

    def get_experiment(self, experiment_id: int) -> experiment.Experiment:
        found = experiment.Experiment(_number("experiment", experiment_id), self._session)
        found.reload()
        return found

    def list_experiments(
        self,
        sort_by: Optional[ExperimentSortBy] = None,
        order_by: Optional[OrderBy] = None,
        experiment_ids: Optional[List[int]] = None,
        labels: Optional[List[str]] = None,
        users: Optional[List[str]] = None,
        states: Optional[List[ExperimentState]] = None,
        name: Optional[str] = None,
        project_id: Optional[int] = None,
    ) -> drawn.DrawnList[experiment.Experiment]:
        """The experiments that match all filters."""
        params = {
            "sortBy": sort_by.value if sort_by else None,
            "orderBy": order_by.value if order_by else None,
            "experimentIdFilter.incl": experiment_ids,
            "labels": labels,
            "users": users,
            "states": [state.value for state in states] if states else None,
            "name": name,
            "projectId": project_id,
        }
        found = lists.iterate(self._session, "/api/v1/experiments", "experiments", params)
        return drawn.DrawnList(self._experiment(body) for body in found)

    def get_trial(self, trial_id: int) -> trial.Trial:
        found = trial.Trial(_number("trial", trial_id), self._session)
        found.reload()
        return found

    def get_checkpoint(self, uuid: str) -> checkpoint.Checkpoint:
        found = checkpoint.Checkpoint(self._session, uuid)
        found.reload()
        return found

    def get_workspace(self, name: str) -> workspaces.Workspace:
        found = workspaces.Workspace(self._session, workspace_name=name)
        try:
            found.reload()
        except ValueError as error:
            raise errors.NotFoundException(str(error)) from None
        return found

    def list_workspaces(self) -> List[workspaces.Workspace]:
        found = lists.iterate(self._session, "/api/v1/workspaces", "workspaces", {})
        return [self._workspace(body) for body in found]

    def create_workspace(self, name: str) -> workspaces.Workspace:
        body = self._session.post("/api/v1/workspaces", json={"name": name}).json()
        return self._workspace(body["workspace"])

    def delete_workspace(self, name: str) -> None:
        self._session.delete(f"/api/v1/workspaces/{self.get_workspace(name).id}")

    def iter_trials_metrics(
        self, trial_ids: Sequence[int], group: str
    ) -> drawn.Reports[metrics.TrialMetrics]:
        """All reports of trials in one group."""
        return metrics.iterate(self._session, trial_ids, group)

    def stream_trials_metrics(
        self, trial_ids: Sequence[int], group: str
    ) -> drawn.Reports[metrics.TrialMetrics]:
        """The older name of `iter_trials_metrics`."""
        return self.iter_trials_metrics(trial_ids, group)

    def stream_trials_training_metrics(
        self, trial_ids: Sequence[int]
    ) -> drawn.Reports[metrics.TrainingMetrics]:
        """All training reports of trials."""
        return metrics.iterate_training(self._session, trial_ids)

    def stream_trials_validation_metrics(
        self, trial_ids: Sequence[int]
    ) -> drawn.Reports[metrics.ValidationMetrics]:
        """All validation reports of trials."""
        return metrics.iterate_validation(self._session, trial_ids)

    def list_oauth_clients(self) -> Sequence[Any]:
        """Raises EnterpriseOnlyError: there are no OAuth clients here."""
        raise _no_oauth()

    def add_oauth_client(self, domain: str, name: str) -> Any:
        """Raises EnterpriseOnlyError: there are no OAuth clients here."""
        raise _no_oauth()

    def remove_oauth_client(self, client_id: str) -> None:
        """Raises EnterpriseOnlyError: there are no OAuth clients here."""
        raise _no_oauth()

    def _user(self, body: Dict[str, Any]) -> users.User:
        found = users.User(body["id"], self._session)
        found._hydrate(body)
        return found

    def _experiment(self, body: Dict[str, Any]) -> experiment.Experiment:
        found = experiment.Experiment(body["id"], self._session)
        found._hydrate(body)
        return found

    def _workspace(self, body: Dict[str, Any]) -> workspaces.Workspace:
        found = workspaces.Workspace(self._session, body["id"])
        found._hydrate(body)
        return found


def _number(kind: str, value: Any) -> int:
    """Raises ValueError: it is not the id of such a thing."""
    try:
        return int(value)
    except (TypeError, ValueError):
        raise ValueError(
            f"the id of {'an' if kind[0] in 'aeiou' else 'a'} {kind} is a number, not {value!r}"
        ) from None


def _no_oauth() -> EnterpriseOnlyError:
    return EnterpriseOnlyError(
        "OAuth clients are not supported: use an access token (det token create)"
    )


def _text_of(config: Union[str, pathlib.Path, Dict[str, Any]]) -> str:
    if isinstance(config, dict):
        return config_text.dump(config_text.plain(config, "config"))
    if not isinstance(config, (str, pathlib.Path)):
        raise ValueError(f"config must be a mapping or a path, not {type(config).__name__}")
    text = text_file.decoded(pathlib.Path(config).read_bytes(), config, "config file")
    config_text.load(text, str(config))
    return text
