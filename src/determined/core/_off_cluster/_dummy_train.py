"""Reports of a script off the cluster: they are checked, and logged or printed."""

from __future__ import annotations

import pathlib
import tempfile
from typing import TYPE_CHECKING, Any, Dict, List, Mapping, Optional, Union

from determined.core._arguments import (
    check_arguments,
    check_mapping,
    check_progress,
    check_status,
    check_steps,
)
from determined.core._modes import choice
from determined.core._off_cluster._tell import tell
from determined.core._train import EarlyExitReason, Mangler, Selector, TrainContext

if TYPE_CHECKING:
    from determined.media import Media


class DummyTrainContext(TrainContext):
    """Logs or prints reports; used off the cluster."""

    def __init__(self, tensorboard_path: Optional[pathlib.Path] = None) -> None:
        self._tbd_directory = tensorboard_path
        self._has_reported = False

    def set_status(self, status: str) -> None:
        """Log the status."""
        check_status(status)
        tell("status: %s", status)

    def set_metadata(self, metadata: Dict[str, Any]) -> Optional[Dict[str, Any]]:
        """Log the metadata."""
        check_mapping("metadata", metadata)
        tell("metadata: %s", metadata)
        return metadata

    def get_metadata(self) -> Optional[Dict[str, Any]]:
        """Return None."""
        return None

    def _end_event_file(self) -> None:
        pass

    def _is_mine(self) -> bool:
        return True

    def _report(
        self,
        group: str,
        steps_completed: int,
        metrics: Dict[str, Any],
        batch_metrics: Optional[List[Dict[str, Any]]] = None,
    ) -> None:
        from determined.core._metrics import check_group, plain_metrics

        check_group(group)
        steps = check_arguments(steps_completed, metrics)
        tell("%s metrics at step %s: %s", group, steps, plain_metrics(metrics))

    def report_media(
        self,
        steps_completed: int,
        media: Mapping[str, Union[Media, str]],
        group: str = "training",
    ) -> None:
        """Check the values as on the cluster, and log what each would store."""
        from determined.media import _store

        steps = check_steps(steps_completed)
        for name, value in _store.encoded(steps, media, group).items():
            text = (
                "%s media %r at step %s: %s (%s) of %d bytes, stored by trials on a cluster only"
            )
            tell(text, group, name, steps, value.kind, value.extension, len(value.content))

    def upload_tensorboard_files(
        self,
        selector: Selector = lambda _: True,
        mangler: Mangler = lambda p, __: p,
    ) -> None:
        """Do nothing."""

    def report_early_exit(self, reason: EarlyExitReason) -> None:
        """Log the reason."""
        tell("early exit: %s", choice(EarlyExitReason, reason, "reason").value)

    def report_progress(self, progress: float) -> None:
        """Log the progress."""
        check_progress(progress)
        tell("progress: %.0f %%", progress * 100)

    def _try_report_progress(self, progress: float) -> None:
        self.report_progress(progress)

    def get_experiment_best_validation(self) -> Optional[float]:
        """Return None: there is no experiment."""
        return None

    def get_tensorboard_path(self) -> pathlib.Path:
        """A temporary directory, created by the first call."""
        if self._tbd_directory is None:
            self._tbd_directory = pathlib.Path(tempfile.mkdtemp(prefix="tensorboard-"))
        return self._tbd_directory
