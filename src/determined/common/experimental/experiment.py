"""An experiment."""

from __future__ import annotations

import base64
import os
import pathlib
import time
from typing import Any, Dict, Iterator, List, Optional, Set, Union

from determined.common import progress, reasons
from determined.common.api import BaseSession
from determined.common.api import errors as api_errors
from determined.common.experimental import checkpoint, drawn, lists, trial
from determined.common.experimental.enums import (
    CheckpointSortBy,
    ExperimentState,
    OrderBy,
    TrialSortBy,
)
from determined.common.experimental.enums import ExperimentSortBy as ExperimentSortBy

_AWAY_S = 120.0
TERMINAL_STATES = frozenset(state for state in ExperimentState if state.is_terminal)

ExperimentOrderBy = OrderBy
"""The older name."""


class Experiment(drawn.Drawn):
    """An experiment by its id. `reload` and the calls that return one set its attributes."""

    def __init__(self, experiment_id: int, session: BaseSession) -> None:
        self._id = experiment_id
        self._session = session
        self.config: Optional[Dict[str, Any]] = None
        self.state: Optional[ExperimentState] = None
        self.labels: Optional[Set[str]] = None
        self.archived: Optional[bool] = None
        self.name: Optional[str] = None
        self.progress: Optional[float] = None
        self.description: Optional[str] = None
        self.notes: Optional[str] = None
        self.project_id: Optional[int] = None
        self.workspace_id: Optional[int] = None

    def __repr__(self) -> str:
        return f"Experiment(id={self._id})"

    @property
    def id(self) -> int:
        return self._id

    def reload(self) -> None:
        """Read the experiment from the master."""
        body = self._session.get(self._path()).json()
        self._hydrate({**body["experiment"], "config": body.get("config")})

    def set_name(self, name: str) -> None:
        self._patch({"name": name})

    def set_description(self, description: str) -> None:
        self._patch({"description": description})

    def set_notes(self, notes: str) -> None:
        """Replace the notes."""
        self._patch({"notes": notes})

    def add_label(self, label: str) -> None:
        """Add a label and keep the others."""
        self.reload()
        self.set_labels((self.labels or set()) | {label})

    def remove_label(self, label: str) -> None:
        """Remove a label; a missing one is ignored."""
        self.reload()
        self.set_labels((self.labels or set()) - {label})

    def set_labels(self, labels: Set[str]) -> None:
        """Replace all labels."""
        self._patch({"labels": sorted(labels)})

    def activate(self) -> None:
        """Resume a paused experiment."""
        self._act("activate")

    def pause(self) -> None:
        """Ask every trial to save a checkpoint and release its slots."""
        self._act("pause")

    def cancel(self) -> None:
        """Stop it after its trials have saved a checkpoint."""
        self._act("cancel")

    def kill(self) -> None:
        """Stop it and its trials immediately."""
        self._act("kill")

    def archive(self) -> None:
        """Hide it from lists."""
        self._act("archive")

    def unarchive(self) -> None:
        """Show it in lists again."""
        self._act("unarchive")

    def move_to_project(self, workspace_name: str, project_name: str) -> None:
        """Move it to another project.

        Raises:
            NotFoundException: the workspace or the project does not exist.
        """
        from determined.common.experimental import workspace  # circular import

        target = workspace.Workspace(self._session, workspace_name=workspace_name)
        try:
            project = target.get_project(project_name)
        except ValueError as error:
            raise api_errors.NotFoundException(str(error)) from None
        body = {"experimentId": self.id, "destinationProjectId": project.id}
        self._session.post(f"{self._path()}/move", json=body)
        self.reload()

    def get_pachyderm_config(self) -> Dict[str, Any]:
        """The Pachyderm section of its configuration.

        Raises:
            ValueError: there is none.
        """
        if self.config is None:
            self.reload()
        integrations = (self.config or {}).get("integrations") or {}
        if not integrations.get("pachyderm"):
            raise ValueError(f"the configuration of experiment {self.id} has no Pachyderm section")
        return dict(integrations["pachyderm"])

    def delete(self) -> None:
        """Delete it with its trials and checkpoints."""
        self._session.delete(self._path())

    def download_code(self, output_dir: Optional[str] = None) -> str:
        """Write its model definition as a tar.gz archive; return the archive's path.

        Raises:
            ValueError: it has no model definition.
        """
        text = self._session.get(f"{self._path()}/model_def").json()["b64Tgz"]
        if not text:
            raise ValueError(f"experiment {self.id} has no model definition")
        folder = pathlib.Path(output_dir or ".").expanduser()
        folder.mkdir(parents=True, exist_ok=True)
        target = folder / f"exp-{self.id}_model_def.tar.gz"
        target.write_bytes(base64.b64decode(text))
        return os.fspath(target)

    def iter_trials(
        self,
        sort_by: TrialSortBy = TrialSortBy.ID,
        order_by: OrderBy = OrderBy.ASCENDING,
        limit: Optional[int] = None,
    ) -> Iterator[trial.Trial]:
        """Its trials, fetched `limit` at a time."""
        params = {"sortBy": sort_by.value, "orderBy": order_by.value}
        path = f"{self._path()}/trials"
        for body in lists.iterate(self._session, path, "trials", params, limit):
            found = trial.Trial(body["id"], self._session)
            found._hydrate(body)
            yield found

    def list_trials(
        self, sort_by: TrialSortBy = TrialSortBy.ID, order_by: OrderBy = OrderBy.ASCENDING
    ) -> drawn.DrawnList[trial.Trial]:
        return drawn.DrawnList(self.iter_trials(sort_by, order_by))

    def get_trials(
        self, sort_by: TrialSortBy = TrialSortBy.ID, order_by: OrderBy = OrderBy.ASCENDING
    ) -> drawn.DrawnList[trial.Trial]:
        """The older name of `list_trials`."""
        return self.list_trials(sort_by, order_by)

    def await_first_trial(self, interval: float = 0.1) -> trial.Trial:
        """Wait until it has a trial, and return the first.

        Raises:
            RuntimeError: it ended without one.
        """
        while True:
            for found in self.iter_trials(limit=1):
                return found
            self.reload()
            if self.state is not None and self.state.is_terminal:
                raise RuntimeError(f"experiment {self.id} ended without a trial")
            time.sleep(interval)

    def wait(self, interval: float = 5.0) -> ExperimentState:
        """Wait until it ends, even across a restart of the master; return its state.

        A terminal and a notebook show its progress.

        Raises:
            ValueError: it is paused.
        """
        with progress.progress_bar(f"experiment {self.id}") as show:
            return self._wait(interval, show)

    def _wait(self, interval: float, show: progress.ProgressCallback) -> ExperimentState:
        away_since_s: Optional[float] = None
        while True:
            try:
                self.reload()
                away_since_s = None
            except api_errors.MasterNotFoundException:
                now_s = time.monotonic()
                away_since_s = away_since_s or now_s
                if now_s - away_since_s > _AWAY_S:
                    raise
            if away_since_s is None and self.state is not None and self.state.is_terminal:
                return self.state
            if away_since_s is None and self.state is ExperimentState.PAUSED:
                raise ValueError(
                    f"experiment {self.id} is PAUSED: activate it to wait for its end"
                )
            if away_since_s is not None:
                show(self.progress or 0.0, "waits for the master")
            elif self.state is not None:
                show(self.progress or 0.0, self.state.name)
            time.sleep(interval)

    def reason(self) -> str:
        """Why it is in its state, the cause of a failure first; empty if that needs no reason."""
        return reasons.reason_of(self._session, self._path())

    def list_checkpoints(
        self,
        sort_by: Optional[Union[str, CheckpointSortBy]] = None,
        order_by: Optional[OrderBy] = None,
        max_results: Optional[int] = None,
    ) -> drawn.DrawnList[checkpoint.Checkpoint]:
        """Its complete checkpoints; by default sorted by the searcher's metric, the best first.

        Raises:
            ValueError: none of them has the metric of `sort_by`.
        """
        if sort_by is None:
            sort_by, order_by = CheckpointSortBy.SEARCHER_METRIC, self._best_first(order_by)
        path = f"{self._path()}/checkpoints"
        states = ["STATE_COMPLETED"]
        found = lists.checkpoints(self._session, path, sort_by, order_by, max_results, states)
        return drawn.DrawnList(trial._checkpoint(self._session, body) for body in found)

    def top_checkpoint(
        self, sort_by: Optional[str] = None, smaller_is_better: Optional[bool] = None
    ) -> checkpoint.Checkpoint:
        """The best checkpoint of all trials.

        A metric in `sort_by` is better when larger, unless `smaller_is_better` is set.

        Raises:
            InvalidArguments: it has no checkpoint with a validation; a ValueError.
        """
        best = self.top_n_checkpoints(1, sort_by, smaller_is_better)
        if not best:
            raise lists.InvalidArguments(
                f"experiment {self.id} has no checkpoint with a validation"
            )
        return best[0]

    def top_n_checkpoints(
        self, limit: int, sort_by: Optional[str] = None, smaller_is_better: Optional[bool] = None
    ) -> List[checkpoint.Checkpoint]:
        """The best checkpoints, at most one per trial, sorted as in `top_checkpoint`."""
        order = None
        if sort_by is not None:
            order = OrderBy.ASC if smaller_is_better else OrderBy.DESC
        best: Dict[int, checkpoint.Checkpoint] = {}
        for found in self.list_checkpoints(sort_by, order):
            if found.training is not None and found.training.validation_metrics:
                best.setdefault(found.training.trial_id, found)
        return list(best.values())[:limit]

    def delete_tensorboard_files(self) -> None:
        self._session.delete(f"{self._path()}/tensorboard-files")

    def _path(self) -> str:
        return f"/api/v1/experiments/{self.id}"

    def _address(self) -> str:
        return f"{self._session.master}/det/experiments/{self.id}"

    def _row(self) -> drawn.Row:
        row: drawn.Row = {"id": self.id}
        if self.state is not None:
            row.update(name=self.name, state=self.state.name, progress=self.progress)
            row.update(labels=", ".join(sorted(self.labels or ())), description=self.description)
            row.update(project_id=self.project_id, archived=self.archived)
        return row

    def _act(self, action: str) -> None:
        self._session.post(f"{self._path()}/{action}")

    def _patch(self, changes: Dict[str, Any]) -> None:
        body = self._session.patch(self._path(), json={"id": self.id, **changes}).json()
        self._hydrate({"config": self.config, **body["experiment"]})

    def _best_first(self, order_by: Optional[OrderBy]) -> OrderBy:
        if order_by is not None:
            return order_by
        if self.config is None:
            self.reload()
        smaller = (self.config or {}).get("searcher", {}).get("smaller_is_better", True)
        return OrderBy.ASC if smaller else OrderBy.DESC

    def _hydrate(self, body: Dict[str, Any]) -> None:
        self.config = body.get("config")
        self.state = ExperimentState(body["state"])
        self.labels = set(body.get("labels") or ())
        self.archived = body["archived"]
        self.name = body["name"]
        progress = body.get("progress")
        self.progress = None if progress is None else float(progress)
        self.description = body["description"]
        self.notes = body["notes"]
        self.project_id = body["projectId"]
        self.workspace_id = body["workspaceId"]


class ExperimentReference(Experiment):
    """The older name of `Experiment`."""
