"""Reports of a trial: metrics, progress, status and metadata."""

from __future__ import annotations

import enum
import logging
import os
import pathlib
import tempfile
import time
from typing import TYPE_CHECKING, Any, Callable, Dict, List, Mapping, Optional, Union

from determined._constants import run_dir
from determined.common.api import errors
from determined.core._arguments import (
    check_arguments,
    check_mapping,
    check_progress,
    check_status,
    check_steps,
)
from determined.core._modes import TensorboardMode, choice

if TYPE_CHECKING:
    from determined.common.api._session import BaseSession
    from determined.core._distributed import DistributedContext
    from determined.core._metrics import _MetricsContext
    from determined.media import Media
    from determined.media._store import MediaStore
    from determined.tensorboard import BatchMetricWriter, TensorboardManager

logger = logging.getLogger("determined.core")

Selector = Callable[[pathlib.Path], bool]
Mangler = Callable[[pathlib.Path, int], pathlib.Path]

PROGRESS_EVERY_S = 1.0
PROGRESS_TIMEOUT_S = 5.0
REPORTED_MARKER = "reported"
"""A file in the info directory by which the entry chain knows that metrics were reported."""


class EarlyExitReason(enum.Enum):
    """Why a trial ends early."""

    INVALID_HP = "EXITED_REASON_INVALID_HP"
    USER_REQUESTED_STOP = "EXITED_REASON_USER_REQUESTED_STOP"


class TrainContext:
    """Reports metrics, progress and status of a trial.

    Training and validation metrics are reported by the chief (rank 0) only; calls on other ranks
    have no effect. Metrics of other groups are reported by every rank that calls: use a group per
    rank, or call on one rank.
    """

    _writes_events = True
    """Whether metrics are also written as TensorBoard event files."""

    def __init__(
        self,
        session: BaseSession,
        trial_id: int,
        exp_id: int,
        metrics: _MetricsContext,
        distributed: DistributedContext,
        tensorboard_mode: TensorboardMode,
        tensorboard_manager: Optional[TensorboardManager],
        tbd_writer: Optional[BatchMetricWriter],
    ) -> None:
        self._session = session
        self._trial_id = trial_id
        self._exp_id = exp_id
        self._metrics = metrics
        self._distributed = distributed
        self._tensorboard_mode = tensorboard_mode
        self._tensorboard_manager = tensorboard_manager
        self._tbd_writer = tbd_writer
        self._media: Optional[MediaStore] = None
        self._has_reported = False
        self._has_logged_rank = False
        self._progress_sent_at = -PROGRESS_EVERY_S

    def set_status(self, status: str) -> None:
        """Set a short status of the trial, such as `validating`. Raises TypeError."""
        check_status(status)
        self._session.post(
            f"/api/v1/trials/{self._trial_id}/runner/metadata", json={"state": status}
        )

    def set_metadata(self, metadata: Dict[str, Any]) -> Optional[Dict[str, Any]]:
        """Replace the run's metadata; return the stored metadata. Raises TypeError."""
        check_mapping("metadata", metadata)
        return self._run_metadata(
            self._session.post(
                f"/api/v1/runs/{self._trial_id}/metadata",
                json={"runId": self._trial_id, "metadata": metadata},
            )
        )

    def get_metadata(self) -> Optional[Dict[str, Any]]:
        """The run's metadata, or None."""
        return self._run_metadata(self._session.get(f"/api/v1/runs/{self._trial_id}/metadata"))

    def report_training_metrics(
        self,
        steps_completed: int,
        metrics: Dict[str, Any],
        batch_metrics: Optional[List[Dict[str, Any]]] = None,
    ) -> None:
        """Report training metrics, averaged over the steps since the last report.

        Args:
            steps_completed: batches (or other steps) completed so far.
            metrics: values by name: numbers, or other values that JSON can represent.
            batch_metrics: the metrics of each batch.

        Raises:
            TypeError: an argument or a value cannot be reported.
            BadRequestException: the master refused an earlier report.
        """
        if self._is_mine():
            self._report("training", steps_completed, metrics, batch_metrics)

    def report_validation_metrics(self, steps_completed: int, metrics: Dict[str, Any]) -> None:
        """Report validation metrics; the searcher uses the one named by `searcher.metric`.

        Values of type bytes are dropped with a warning.

        Raises:
            RuntimeError: a value is None.
            TypeError, BadRequestException: as `report_training_metrics`.
        """
        check_arguments(steps_completed, metrics)
        kept = {}
        for name, value in metrics.items():
            if value is None:
                raise RuntimeError(f"validation metric {name!r} is None")
            if isinstance(value, (bytes, bytearray)):
                logger.warning("validation metric %r has type bytes and is dropped", name)
            else:
                kept[name] = value
        if self._is_mine():
            self._report("validation", steps_completed, kept)

    def report_metrics(self, group: str, steps_completed: int, metrics: Dict[str, Any]) -> None:
        """Report metrics of any group; its name must not contain a dot.

        Raises:
            ValueError: the group's name is empty or contains a dot.
            TypeError, BadRequestException: as `report_training_metrics`.
        """
        if group == "validation":
            self.report_validation_metrics(steps_completed, metrics)
        elif group != "training" or self._is_mine():
            self._report(group, steps_completed, metrics)

    def report_media(
        self,
        steps_completed: int,
        media: Mapping[str, Union[Media, str]],
        group: str = "training",
    ) -> None:
        """Report images, tables, histograms, audio and texts, which the trial's page shows.

        They are stored below the trial's TensorBoard files in its checkpoint storage, and deleted
        with these. The same group, name and steps replace a value. The chief reports; calls on
        other ranks have no effect. At most `determined.media.MAX_FILES` values and
        `MAX_TOTAL_BYTES` of one attempt are stored; a warning says when more are left out.

        Args:
            steps_completed: batches (or other steps) completed so far.
            media: values of `determined.media` by name; text stands for `Text`.
            group: as in `report_metrics`.

        Raises:
            TypeError: an argument or a value cannot be reported.
            ValueError: a name or a value is too large or invalid; the text says which.
            OSError: the local copy cannot be written.
        """
        if not self._is_mine() or self._tensorboard_manager is None:
            return
        from determined.media import _store

        steps = check_steps(steps_completed)
        contents = _store.encoded(steps, media, group)
        if self._media is None:
            self._media = _store.MediaStore(self._tensorboard_manager.base_path)
        if self._media.write(steps, contents, group):
            self._tensorboard_manager.sync(_store.is_media)

    def get_tensorboard_path(self) -> pathlib.Path:
        """The directory whose files are uploaded for TensorBoard."""
        if self._tensorboard_manager is None:
            return pathlib.Path(tempfile.gettempdir(), "tensorboard")
        return self._tensorboard_manager.base_path

    def upload_tensorboard_files(
        self,
        selector: Selector = lambda _: True,
        mangler: Mangler = lambda p, __: p,
    ) -> None:
        """Upload TensorBoard files, in `TensorboardMode.MANUAL`.

        Args:
            selector: the files to upload, by their path.
            mangler: the name of a file in the storage, by its path and this process's rank.

        Raises:
            RuntimeError: the mode is AUTO.
        """
        if self._tensorboard_mode is TensorboardMode.AUTO:
            raise RuntimeError(
                "files are uploaded automatically; to upload them yourself, pass "
                "tensorboard_mode=TensorboardMode.MANUAL to core.init"
            )
        if self._tensorboard_manager is not None:
            self._tensorboard_manager.sync(selector, mangler, self._distributed.rank)

    def report_early_exit(self, reason: EarlyExitReason) -> None:
        """Report why the trial is about to exit; it must then exit within ten seconds.

        Raises:
            ValueError: the reason does not exist.
        """
        body = {"reason": choice(EarlyExitReason, reason, "reason").value}
        try:
            self._session.post(f"/api/v1/trials/{self._trial_id}/early_exit", json=body)
        except errors.APIException as error:
            if error.status_code != 400:
                raise
            logger.warning("the master refused the early exit: %s", error.message)

    def report_progress(self, progress: float) -> None:
        """Report the fraction of the training that is done.

        Raises:
            ValueError: `progress` is not from 0 to 1.
        """
        check_progress(progress)
        if self._distributed.rank == 0:
            self._session.post(
                f"/api/v1/trials/{self._trial_id}/progress",
                json={"progress": float(progress), "is_raw": True},
            )

    def _try_report_progress(self, progress: float) -> None:
        """Report progress at most once a second, without retries and without raising."""
        now = time.monotonic()
        if progress < 1 and now < self._progress_sent_at + PROGRESS_EVERY_S:
            return
        self._progress_sent_at = now
        session = self._session.with_retry(0)
        try:
            session.post(
                f"/api/v1/trials/{self._trial_id}/progress",
                json={"progress": float(progress), "is_raw": True},
                timeout=PROGRESS_TIMEOUT_S,
            )
        except Exception as error:
            logger.debug("progress report failed: %s", error)
        finally:
            session.close()

    def get_experiment_best_validation(self) -> Optional[float]:
        """The experiment's best value of the searcher's metric; None before the first."""
        try:
            answer = self._session.get(
                f"/api/v1/experiments/{self._exp_id}/searcher/best_searcher_validation_metric"
            )
        except errors.NotFoundException:
            return None
        metric = (answer.json() or {}).get("metric")
        return None if metric is None else float(metric)

    def _end_event_file(self) -> None:
        if self._tbd_writer is not None:
            self._tbd_writer.writer.reset()

    def _is_mine(self) -> bool:
        if self._distributed.rank == 0:
            return True
        if not self._has_logged_rank:
            self._has_logged_rank = True
            logger.info(
                "rank %d does not report training and validation metrics; the chief does",
                self._distributed.rank,
            )
        return False

    def _report(
        self,
        group: str,
        steps_completed: int,
        metrics: Dict[str, Any],
        batch_metrics: Optional[List[Dict[str, Any]]] = None,
    ) -> None:
        steps = check_arguments(steps_completed, metrics)
        self._metrics.report(group, steps, metrics, batch_metrics)
        logger.info("%s metrics at step %s: %s", group, steps, metrics)
        if not self._has_reported:
            self._has_reported = True
            _write_marker()
        if self._tensorboard_mode is not TensorboardMode.AUTO:
            return
        if self._tbd_writer is not None and self._writes_events:
            if group == "training":
                self._tbd_writer.on_train_step_end(steps, metrics, batch_metrics)
            elif group == "validation":
                self._tbd_writer.on_validation_step_end(steps, metrics)
        if self._tensorboard_manager is not None:
            self._tensorboard_manager.sync()

    def _run_metadata(self, answer: Any) -> Optional[Dict[str, Any]]:
        return (answer.json() or {}).get("metadata")


def _write_marker() -> None:
    folder = os.path.join(run_dir(), "info")
    try:
        with open(os.path.join(folder, REPORTED_MARKER), "w", encoding="ascii"):
            pass
    except OSError:
        logger.debug("the marker could not be written to %s", folder)
