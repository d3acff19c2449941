"""Experimental calls of the Core API; they may change."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Optional

if TYPE_CHECKING:
    from determined.common.api._session import BaseSession


class ExperimentalCoreContext:
    """Reports which checkpoints of other trials this trial uses."""

    def __init__(self, session: Optional[BaseSession], trial_id: int) -> None:
        self._session = session
        self._trial_id = trial_id

    def report_task_using_checkpoint(self, checkpoint: Any) -> None:
        """Report that this trial uses a checkpoint, for example for inference.

        Args:
            checkpoint: an object with the attribute `uuid`.
        """
        self._report({"checkpointUuid": checkpoint.uuid})

    def report_task_using_model_version(self, model_version: Any) -> None:
        """Report that this trial uses a version of a registered model."""
        self._report(
            {
                "checkpointUuid": model_version.checkpoint.uuid,
                "modelId": model_version.model_id,
                "modelVersion": model_version.model_version,
            }
        )

    def _report(self, source: Any) -> None:
        if self._session is None:
            return
        info = {
            "trialId": self._trial_id,
            "trialSourceInfoType": "TRIAL_SOURCE_INFO_TYPE_INFERENCE",
            **source,
        }
        self._session.post("/api/v1/trial-source-info", json={"trialSourceInfo": info})


class DummyExperimentalCoreContext(ExperimentalCoreContext):
    """Does nothing; used off the cluster."""

    def __init__(self) -> None:
        super().__init__(None, 0)
