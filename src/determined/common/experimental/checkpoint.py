"""Checkpoints and their download."""

from __future__ import annotations

import contextlib
import dataclasses
import enum
import json
import pathlib
from functools import partial
from typing import Any, Dict, Iterable, List, Optional

from determined import errors
from determined.common import storage
from determined.common.api import BaseSession
from determined.common.api import errors as api_errors
from determined.common.experimental import archive, drawn, metrics
from determined.common.experimental.enums import CheckpointSortBy as CheckpointSortBy
from determined.common.experimental.enums import CheckpointState, OrderBy

CheckpointOrderBy = OrderBy
"""The older name."""


_METADATA = "metadata.json"
_DIRECT_FAILURES = (
    OSError,
    ValueError,
    errors.CheckpointNotFound,
    errors.NoDirectStorageAccess,
)
_DIRECT_PATIENCE_S = 10.0
"""How long to retry object storage if the master can serve the files instead."""
DOWNLOAD_FAILURES = (
    *_DIRECT_FAILURES,
    errors.CheckpointCorrupted,
    errors.CheckpointStateException,
    errors.ProxiedDownloadFailed,
    errors.MultipleDownloadsFailed,
)


class DownloadMode(enum.Enum):
    """The source of a download."""

    DIRECT = "direct"
    MASTER = "master"
    AUTO = "auto"

    def __str__(self) -> str:
        return self.value


@dataclasses.dataclass
class CheckpointTrainingMetadata:
    """The training of a checkpoint."""

    experiment_config: Dict[str, Any]
    experiment_id: int
    trial_id: int
    hparams: Dict[str, Any]
    validation_metrics: Dict[str, Any]


class Checkpoint(drawn.Drawn):
    """A checkpoint by its UUID. `reload` and the calls that return checkpoints set its attributes.

    `resources` maps each file to its size in bytes, and directories (ending in `/`) to 0.
    """

    def __init__(self, session: BaseSession, uuid: str) -> None:
        self._session = session
        self.uuid = uuid
        self.task_id: Optional[str] = None
        self.allocation_id: Optional[str] = None
        self.report_time: Optional[str] = None
        self.resources: Optional[Dict[str, Any]] = None
        self.metadata: Optional[Dict[str, Any]] = None
        self.state: Optional[CheckpointState] = None
        self.training: Optional[CheckpointTrainingMetadata] = None

    def __repr__(self) -> str:
        return f"Checkpoint(uuid={self.uuid})"

    def reload(self) -> None:
        """Read the checkpoint from the master."""
        path = f"/api/v1/checkpoints/{self.uuid}"
        self._hydrate(self._session.get(path).json()["checkpoint"])

    def download(
        self,
        path: Optional[str] = None,
        mode: DownloadMode = DownloadMode.AUTO,
        *,
        verify: bool = True,
        progress: storage.Progress = None,
    ) -> str:
        """Copy the files into a directory, by default `checkpoints/<uuid>`.

        An existing complete download is kept. `metadata.json` is written if the files have none.

        Args:
            path: the directory.
            mode: the source of the files.
            verify: compare each file with its stored hash; checkpoints of harnesses before 0.39
                have none.
            progress: called with the bytes received.

        Returns:
            The directory.

        Raises:
            CheckpointStateException: the files were deleted, or were never complete.
            CheckpointCorrupted: a file differs from what was stored; it is removed.
            CheckpointNotFound, ProxiedDownloadFailed, MultipleDownloadsFailed: depends on mode.
        """
        self.reload()
        if self.state not in (CheckpointState.COMPLETED, CheckpointState.PARTIALLY_DELETED):
            state = self.state.name if self.state else "unknown"
            raise errors.CheckpointStateException(
                f"checkpoint {self.uuid} is in state {state}: only a COMPLETED or "
                "PARTIALLY_DELETED one has files to download"
            )
        target = pathlib.Path(path) if path is not None else pathlib.Path("checkpoints", self.uuid)
        target.mkdir(parents=True, exist_ok=True)
        if not self._is_complete(target):
            try:
                self._fetch(target, mode, verify, progress)
            except BaseException:
                with contextlib.suppress(OSError):
                    target.rmdir()  # only if it is empty
                raise
        if not (target / _METADATA).exists():
            self.write_metadata_file(str(target / _METADATA))
        return str(target)

    def write_metadata_file(self, path: str) -> None:
        """Write the metadata as JSON."""
        with open(path, "w", encoding="utf-8") as file:
            json.dump(self.metadata, file, indent=2)

    def add_metadata(self, metadata: Dict[str, Any]) -> None:
        """Set keys of the metadata and keep the others."""
        self.reload()
        self._store_metadata({**(self.metadata or {}), **metadata})

    def remove_metadata(self, keys: List[str]) -> None:
        """Remove keys of the metadata; missing keys are ignored."""
        self.reload()
        kept = {k: v for k, v in (self.metadata or {}).items() if k not in keys}
        self._store_metadata(kept)

    def delete(self) -> None:
        """Request the deletion of all files."""
        self._session.delete("/api/v1/checkpoints", json={"checkpointUuids": [self.uuid]})

    def remove_files(self, globs: List[str]) -> None:
        """Request the deletion of the files that match one of the patterns."""
        body = {"checkpointUuids": [self.uuid], "checkpointGlobs": globs}
        self._session.post("/api/v1/checkpoints/rm", json=body)

    def get_metrics(self, group: Optional[str] = None) -> Iterable[metrics.TrialMetrics]:
        """The metrics that the checkpoint's trial reported at its step."""
        params = {"trialSourceInfoType": "TRIAL_SOURCE_INFO_TYPE_UNSPECIFIED"}
        params.update({"metricGroup": group} if group else {})
        path = f"/api/v1/checkpoints/{self.uuid}/metrics"
        for row in self._session.get(path, params=params).json()["metrics"]:
            yield metrics.report_of(row, group)

    def get_pachyderm_commit(self) -> str:
        """The Pachyderm commit of its training data.

        Raises:
            ValueError: the configuration has none.
        """
        if self.training is None:
            self.reload()
        config = self.training.experiment_config if self.training else {}
        pachyderm = (config.get("integrations") or {}).get("pachyderm") or {}
        commit = (pachyderm.get("dataset") or {}).get("commit")
        if not commit:
            raise ValueError(
                f"the configuration of checkpoint {self.uuid} has no Pachyderm commit"
            )
        return str(commit)

    def _row(self) -> drawn.Row:
        row: drawn.Row = {"uuid": self.uuid}
        if self.state is not None:
            row.update(state=self.state.name, report_time=self.report_time)
            row["steps_completed"] = (self.metadata or {}).get("steps_completed")
            row["bytes"] = sum((self.resources or {}).values())
        if self.training is not None:
            row["experiment_id"] = self.training.experiment_id
            row["trial_id"] = self.training.trial_id
            validation = self.training.validation_metrics
            row.update(drawn.flat("validation", validation.get("avgMetrics")))
            row.update(drawn.flat("hparams", self.training.hparams))
        return row

    def _hydrate(self, body: Dict[str, Any]) -> None:
        self.task_id = body.get("taskId")
        self.allocation_id = body.get("allocationId")
        self.report_time = body.get("reportTime")
        self.resources = {name: int(size) for name, size in (body.get("resources") or {}).items()}
        self.metadata = body.get("metadata") or {}
        self.state = CheckpointState(body.get("state"))
        training = body.get("training") or {}
        if training.get("trialId"):
            self.training = CheckpointTrainingMetadata(
                experiment_config=training.get("experimentConfig") or {},
                experiment_id=training["experimentId"],
                trial_id=training["trialId"],
                hparams=training.get("hparams") or {},
                validation_metrics=training.get("validationMetrics") or {},
            )

    def _store_metadata(self, metadata: Dict[str, Any]) -> None:
        body = {"checkpoint": {"uuid": self.uuid, "metadata": metadata}}
        self._session.post(f"/api/v1/checkpoints/{self.uuid}/metadata", json=body)
        self.metadata = metadata

    def _fetch(
        self, target: pathlib.Path, mode: DownloadMode, verify: bool, progress: storage.Progress
    ) -> None:
        if mode is DownloadMode.DIRECT:
            self._fetch_direct(target, verify, progress)
        elif mode is DownloadMode.MASTER:
            self._fetch_through_master(target, verify, progress)
        else:
            try:
                self._fetch_direct(target, verify, progress, _DIRECT_PATIENCE_S)
            except _DIRECT_FAILURES as direct:
                try:
                    self._fetch_through_master(target, verify, progress)
                except errors.ProxiedDownloadFailed as proxied:
                    raise errors.MultipleDownloadsFailed(
                        f"checkpoint {self.uuid} could not be downloaded, neither from its "
                        f"storage ({direct}) nor through the master ({proxied})"
                    ) from proxied
        missing = [] if self._is_complete(target) else self._missing(target)
        if missing:
            raise errors.CheckpointNotFound(
                f"checkpoint {self.uuid}: the download to {target} lacks {', '.join(missing[:5])}"
            )

    def _fetch_direct(
        self,
        target: pathlib.Path,
        verify: bool,
        progress: storage.Progress,
        patience_s: Optional[float] = None,
    ) -> None:
        config = (self.training.experiment_config if self.training else {}).get(
            "checkpoint_storage"
        )
        if not config:
            raise errors.NoDirectStorageAccess(
                f"the storage of checkpoint {self.uuid} is not known"
            )
        manager = storage.build(
            config, shared_fs_root=config.get("host_path"), patience_s=patience_s
        )
        manager.download(self.uuid, target, None, verify, progress)

    def _fetch_through_master(
        self, target: pathlib.Path, verify: bool, progress: storage.Progress
    ) -> None:
        try:
            manifest = self._manifest_from_master() if verify else None
            response = self._session.get(
                f"/checkpoints/{self.uuid}", headers={"Accept": "application/gzip"}, stream=True
            )
            check = None if manifest is None else partial(manifest.check, self.uuid)
            archive.extract(response.iter_content(), target, check, progress)
        except (api_errors.BadRequestException, archive.ArchiveError) as error:
            raise errors.ProxiedDownloadFailed(
                f"the master returned no archive of checkpoint {self.uuid}: {error}"
            ) from error

    def _manifest_from_master(self) -> Optional[storage.Manifest]:
        """The manifest; None if the checkpoint has none, or the master cannot serve it."""
        try:
            content = self._session.get(f"/checkpoints/{self.uuid}/manifest").content
        except api_errors.APIException as error:
            if error.status_code not in (404, 405, 501):
                raise
            return None
        return storage.parse_manifest(self.uuid, content)

    def _missing(self, target: pathlib.Path) -> List[str]:
        sizes = self.resources or {}
        return [n for n, size in sorted(sizes.items()) if not _is_there(target / n, n, size)]

    def _is_complete(self, target: pathlib.Path) -> bool:
        return bool(self.resources) and not self._missing(target)


def _is_there(path: pathlib.Path, name: str, size: int) -> bool:
    if name.endswith("/"):
        return path.is_dir()
    return path.is_file() and path.stat().st_size == size
