"""How many items the lists, maps and free values of a request may have: the one table.

The master's JSON code refuses what has more, `docs/reference/bounds.md` prints the table. Without
these bounds one request with a million ids made all others wait for seconds. What clients of the
public API send stays far below: batches of log lines have 1,000, and pages of lists 100.
"""

from __future__ import annotations

from collections.abc import Mapping

from msgspec import Struct

MAX_STEPS = 2**53 - 1
"""Of a report or checkpoint: the largest integer that each JSON reader keeps exactly."""


class Bound(Struct, frozen=True):
    """The largest number of items in a field, and what a client does that has more.

    Of a text, the items are its characters.
    """

    items: int
    remedy: str
    characters: int = 256 * 1024
    """Of all keys and texts in a free value."""


DEFAULT = Bound(10_000, "send them in several requests")
"""Of each list and map of a request that the table does not name."""
FREE = Bound(10_000, "keep large data in files, for example in a checkpoint or model directory")
"""Of each value without a shape of its own: all values within its lists and objects together."""

TEXT = Bound(4_096, "use a shorter one")
"""Of each text that the table does not name, alone or in a list or map: a name, an id, a label."""

_CONFIG = Bound(256 * 1024, "put data into files")
_FILES = Bound(50_000, "leave files out with a .detignore file, or send an archive of them")
_NOTES = Bound(64 * 1024, "store long texts in a file")
_FILTER = Bound(256 * 1024, "filter by fewer values")
_LARGEST_BODY = 128 * 1024 * 1024
_METRICS = Bound(250_000, "report fewer values, or aggregate them", _LARGEST_BODY)
"""More than one report may have, which the master answers for each report of a batch alone."""

_OF_CHECKPOINT = Bound(10_000, "keep large data in the checkpoint's files", 1024 * 1024)
"""Clients send a checkpoint back as a whole, with the configuration that trained it."""

BOUNDS: Mapping[str, Bound] = {
    "AllocationAllGatherRequest.data": Bound(
        10_000, "exchange large data between the ranks", _LARGEST_BODY
    ),
    "Checkpoint.metadata": _OF_CHECKPOINT,
    **{
        f"{name}.filter": _FILTER
        for name in (
            *("SearchExperimentsRequest", "SearchRunsRequest", "GetRunGroupsRequest"),
            *("ArchiveRunsRequest", "DeleteRunsRequest", "KillRunsRequest", "MoveRunsRequest"),
            *("PauseRunsRequest", "ResumeRunsRequest", "UnarchiveRunsRequest"),
        )
    },
    "Checkpoint.resources": Bound(100_000, "store fewer and larger files in a checkpoint"),
    "CheckpointsRemoveFilesRequest.checkpoint_globs": Bound(1_000, "use patterns that match more"),
    "CheckpointTrainingMetadata.experiment_config": _OF_CHECKPOINT,
    "CheckpointTrainingMetadata.hparams": _OF_CHECKPOINT,
    "CustomWebhookEventData.description": _NOTES,
    "ContinueExperimentRequest.override_config": _CONFIG,
    "CreateExperimentRequest.config": _CONFIG,
    "CreateExperimentRequest.model_definition": _FILES,
    "CreateGenericTaskRequest.config": _CONFIG,
    "CreateGenericTaskRequest.context_directory": _FILES,
    "LaunchCommandRequest.files": _FILES,
    "LaunchNotebookRequest.files": _FILES,
    "LaunchShellRequest.files": _FILES,
    "LaunchTensorboardRequest.files": _FILES,
    "Metrics.avg_metrics": _METRICS,
    "Metrics.batch_metrics": _METRICS,
    "PatchCheckpointOptionalResources.resources": Bound(
        100_000, "store fewer and larger files in a checkpoint"
    ),
    "PatchExperiment.description": _NOTES,
    "PatchExperiment.notes": _NOTES,
    "PatchExperiment.labels": Bound(1_000, "use fewer labels"),
    "PatchProject.description": _NOTES,
    "PatchModel.description": _NOTES,
    "PatchModel.notes": _NOTES,
    "PatchModel.labels": Bound(1_000, "use fewer labels"),
    "PatchModelVersion.comment": _NOTES,
    "PatchModelVersion.notes": _NOTES,
    "PatchModelVersion.labels": Bound(1_000, "use fewer labels"),
    "PostModelRequest.description": _NOTES,
    "PostModelRequest.notes": _NOTES,
    "PostModelRequest.labels": Bound(1_000, "use fewer labels"),
    "PostModelVersionRequest.comment": _NOTES,
    "PostModelVersionRequest.notes": _NOTES,
    "PostModelVersionRequest.labels": Bound(1_000, "use fewer labels"),
    "PostProjectRequest.description": _NOTES,
    "PostUserSettingRequest.settings": Bound(1_000, "send them in several requests"),
    "PostRunMetadataRequest.metadata": Bound(2_000, "store large data in a file", 64 * 1024),
    "PutGlobalConfigPoliciesRequest.config_policies": _CONFIG,
    "PutWorkspaceConfigPoliciesRequest.config_policies": _CONFIG,
    "ReportTrialMetricsBatchRequest.reports": Bound(1_000, "send them in several requests"),
}
"""By message and field, as `determined_wire` spells them."""
FREE_TEXTS = frozenset(
    {
        "Note.contents",
        "PatchBoardRequest.text",
        "PostBoardRequest.text",
        "TaskLog.log",
        "UserWebSetting.value",
    }
)
"""Texts without a bound here: a long line is stored as several, bytes of others are counted."""


def text_bound_of(message: str, field: str) -> Bound | None:
    """The bound of a text in characters; None where another rule bounds it."""
    name = f"{message}.{field}"
    return None if name in FREE_TEXTS else BOUNDS.get(name, TEXT)


def bound_of(message: str, field: str, *, is_free: bool = False) -> Bound:
    """The bound of a list, a map or a free value."""
    return BOUNDS.get(f"{message}.{field}", FREE if is_free else DEFAULT)
