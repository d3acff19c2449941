"""Models of the registry and their versions."""

from __future__ import annotations

import datetime
import enum
from typing import Any, Dict, Iterable, Iterator, List, Mapping, Optional
from urllib.parse import quote

from determined.common.api import BaseSession
from determined.common.experimental import checkpoint, drawn, lists, metrics
from determined.common.experimental.enums import OrderBy
from determined.common.util import parse_protobuf_timestamp

ModelOrderBy = OrderBy
"""The older name of `OrderBy`."""


class ModelSortBy(enum.Enum):
    """Sort keys of models."""

    UNSPECIFIED = "SORT_BY_UNSPECIFIED"
    NAME = "SORT_BY_NAME"
    DESCRIPTION = "SORT_BY_DESCRIPTION"
    CREATION_TIME = "SORT_BY_CREATION_TIME"
    LAST_UPDATED_TIME = "SORT_BY_LAST_UPDATED_TIME"
    NUM_VERSIONS = "SORT_BY_NUM_VERSIONS"
    WORKSPACE = "SORT_BY_WORKSPACE"


class ModelVersion(drawn.Drawn):
    """A version of a model. `reload` and the calls that return one set its attributes."""

    def __init__(self, session: BaseSession, model_version: int, model_name: str) -> None:
        self._session = session
        self.model_name = model_name
        self.model_version = model_version
        self.model_id: Optional[int] = None
        self.checkpoint: Optional[checkpoint.Checkpoint] = None
        self.metadata: Optional[Dict[str, Any]] = None
        self.name: Optional[str] = None
        self.comment: Optional[str] = None
        self.notes: Optional[str] = None

    def __repr__(self) -> str:
        return f"ModelVersion(model_name={self.model_name!r}, version={self.model_version})"

    def set_name(self, name: str) -> None:
        self._patch({"name": name})

    def set_notes(self, notes: str) -> None:
        """Replace the notes."""
        self._patch({"notes": notes})

    def delete(self) -> None:
        """Delete the version; its checkpoint is kept."""
        self._session.delete(self._path)

    def get_metrics(self, group: Optional[str] = None) -> Iterable[metrics.TrialMetrics]:
        """The older name of `iter_metrics`."""
        return self.iter_metrics(group)

    def iter_metrics(self, group: Optional[str] = None) -> Iterable[metrics.TrialMetrics]:
        """The reports of trials that use this version, of one group or all groups."""
        params = {"metricGroup": group} if group else {}
        for row in self._session.get(f"{self._path}/metrics", params=params).json()["metrics"]:
            yield metrics.report_of(row, group)

    def reload(self) -> None:
        """Read the version from the master."""
        self._hydrate(self._session.get(self._path).json()["modelVersion"])

    @property
    def _path(self) -> str:
        return f"{_path_of(self.model_name)}/versions/{self.model_version}"

    def _address(self) -> str:
        return f"{_page_of(self._session, self.model_name)}/versions/{self.model_version}"

    def _row(self) -> drawn.Row:
        row: drawn.Row = {"model": self.model_name, "version": self.model_version}
        if self.checkpoint is not None:
            row.update(name=self.name, comment=self.comment, checkpoint=self.checkpoint.uuid)
        return row

    def _patch(self, changes: Mapping[str, Any]) -> None:
        answer = self._session.patch(self._path, json=changes)
        self._hydrate(answer.json()["modelVersion"])

    def _hydrate(self, body: Dict[str, Any]) -> None:
        self.model_version = body["version"]
        model = body.get("model") or {}
        self.model_id = model.get("id")
        self.model_name = model.get("name") or self.model_name
        stored = body.get("checkpoint") or {}
        self.checkpoint = checkpoint.Checkpoint(self._session, stored.get("uuid", ""))
        self.checkpoint._hydrate(stored)
        self.metadata = body.get("metadata") or {}
        self.name = body.get("name")
        self.comment = body.get("comment")
        self.notes = body.get("notes")


class Model(drawn.Drawn):
    """A model by its name. `reload` and the calls that return one set its attributes."""

    def __init__(self, session: BaseSession, name: str) -> None:
        self._session = session
        self.name = name
        self.model_id: Optional[int] = None
        self.description: Optional[str] = None
        self.creation_time: Optional[datetime.datetime] = None
        self.last_updated_time: Optional[datetime.datetime] = None
        self.metadata: Optional[Dict[str, Any]] = None
        self.labels: Optional[List[str]] = None
        self.username: Optional[str] = None
        self.workspace_id: Optional[int] = None
        self.archived: Optional[bool] = None

    def __repr__(self) -> str:
        return f"Model(name={self.name!r})"

    def get_version(self, version: int = -1) -> Optional[ModelVersion]:
        """A version by its number; -1 for the latest, which is None if there is none.

        Raises:
            NotFoundException: the model has no version of that number.
        """
        if version != -1:
            found = ModelVersion(self._session, version, self.name)
            found.reload()
            return found
        params = {
            "limit": 1,
            "orderBy": OrderBy.DESC.value,
            "sortBy": "SORT_BY_VERSION",
        }
        body = self._session.get(f"{self._path}/versions", params=params).json()
        return next((self._version(item) for item in body["modelVersions"]), None)

    def get_versions(self, order_by: OrderBy = OrderBy.DESC) -> drawn.DrawnList[ModelVersion]:
        """The older name of `list_versions`."""
        return self.list_versions(order_by)

    def list_versions(self, order_by: OrderBy = OrderBy.DESC) -> drawn.DrawnList[ModelVersion]:
        """The versions by number, the newest first."""
        return drawn.DrawnList(self.iter_versions(order_by))

    def iter_versions(self, order_by: OrderBy = OrderBy.DESC) -> Iterator[ModelVersion]:
        """As `list_versions`, fetched lazily."""
        params = {"orderBy": order_by.value, "sortBy": "SORT_BY_VERSION"}
        path = f"{self._path}/versions"
        for item in lists.iterate(self._session, path, "modelVersions", params):
            yield self._version(item)

    def register_version(self, checkpoint_uuid: str) -> ModelVersion:
        """Register a checkpoint as the next version, which protects it from deletion.

        Raises:
            APIException: the model is archived, or the checkpoint is not complete.
        """
        body = {"checkpointUuid": checkpoint_uuid, "modelName": self.name}
        answer = self._session.post(f"{self._path}/versions", json=body)
        return self._version(answer.json()["modelVersion"])

    def add_metadata(self, metadata: Dict[str, Any]) -> None:
        """Set keys of the metadata and keep the others."""
        self.reload()
        self._patch({"metadata": {**(self.metadata or {}), **metadata}})

    def remove_metadata(self, keys: List[str]) -> None:
        """Remove keys of the metadata; missing keys are ignored."""
        self.reload()
        kept = {k: v for k, v in (self.metadata or {}).items() if k not in keys}
        self._patch({"metadata": kept})

    def move_to_workspace(self, workspace_name: str) -> None:
        """Move the model to another workspace."""
        self._patch({"workspaceName": workspace_name})

    def set_labels(self, labels: List[str]) -> None:
        """Replace the labels."""
        self._patch({"labels": list(labels or ())})

    def set_description(self, description: str) -> None:
        """Replace the description."""
        self._patch({"description": description})

    def archive(self) -> None:
        """Archive the model, which makes it read-only."""
        self._session.post(f"{self._path}/archive")
        self.archived = True

    def unarchive(self) -> None:
        self._session.post(f"{self._path}/unarchive")
        self.archived = False

    def delete(self) -> None:
        """Delete the model with its versions; their checkpoints are kept."""
        self._session.delete(self._path)

    def reload(self) -> None:
        """Read the model from the master."""
        self._hydrate(self._session.get(self._path).json()["model"])

    @property
    def _path(self) -> str:
        return _path_of(self.name)

    def _address(self) -> str:
        return _page_of(self._session, self.name)

    def _row(self) -> drawn.Row:
        row: drawn.Row = {"name": self.name}
        if self.model_id is not None:
            row.update(id=self.model_id, description=self.description, user=self.username)
            row.update(labels=", ".join(self.labels or ()), archived=self.archived)
            row.update(created=self.creation_time, changed=self.last_updated_time)
        return row

    def _patch(self, changes: Mapping[str, Any]) -> None:
        self._hydrate(self._session.patch(self._path, json=changes).json()["model"])

    def _version(self, body: Dict[str, Any]) -> ModelVersion:
        made = ModelVersion(self._session, body["version"], self.name)
        made._hydrate(body)
        return made

    def _hydrate(self, body: Dict[str, Any]) -> None:
        self.name = body["name"]
        self.model_id = body["id"]
        self.description = body.get("description")
        self.creation_time = parse_protobuf_timestamp(body["creationTime"])
        self.last_updated_time = parse_protobuf_timestamp(body["lastUpdatedTime"])
        self.metadata = body.get("metadata") or {}
        self.labels = list(body.get("labels") or [])
        self.username = body.get("username")
        self.workspace_id = body.get("workspaceId")
        self.archived = bool(body.get("archived"))


def _path_of(name: str) -> str:
    return f"/api/v1/models/{quote(str(name), safe='')}"


def _page_of(session: BaseSession, name: str) -> str:
    return f"{session.master}/det/models/{quote(str(name), safe='')}"
