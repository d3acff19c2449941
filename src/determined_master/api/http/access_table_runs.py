"""What routes of experiments, trials, checkpoints and tasks need where roles decide."""

from __future__ import annotations

from determined_master.api.http.access_rules import Entries, Need, maybe, on
from determined_master.store.workspaces.places import Thing

_V1 = "/api/v1"

_E = f"{_V1}/experiments"
_CONTROLS = (on("experiment", "id", "control", "experiment"),)
_READS = (on("experiment", "experiment_id"),)
_READS_FILES = (on("experiment", "experiment_id", "read", "checkpoint"),)
_LABELS = (on("experiment", "experiment_id", "edit", "experiment"),)


def _creation(prefix: str = "") -> tuple[Need, ...]:
    """What a new experiment names beside its configuration, which the service reads."""
    return (
        maybe("project", f"{prefix}project_id", "create", "experiment"),
        maybe("experiment", f"{prefix}parent_id", "read", "checkpoint"),
        maybe("template", f"{prefix}template"),
    )


_EXPERIMENTS: Entries = {
    ("GET", _E): "filters",
    ("POST", f"{_V1}/experiments-search"): "filters",
    ("GET", f"{_V1}/experiment/labels"): "filters",
    ("POST", _E): _creation(),
    ("PUT", f"{_E}/by-external-id/{{external_experiment_id}}"): (
        Need(
            "external_experiment",
            "external_experiment_id",
            "create",
            "experiment",
            may_be_missing=True,
        ),
        *_creation("create_experiment_request."),
    ),
    ("GET", f"{_E}/{{experiment_id}}"): _READS,
    **{
        ("POST", f"{_E}/{{id}}/{verb}"): _CONTROLS
        for verb in ("activate", "pause", "cancel", "kill", "archive", "unarchive")
    },
    ("POST", f"{_E}/continue"): _CONTROLS,
    ("DELETE", f"{_E}/{{experiment_id}}"): (
        on("experiment", "experiment_id", "delete", "experiment"),
    ),
    ("POST", f"{_E}/{{experiment_id}}/move"): (
        on("experiment", "experiment_id", "control", "experiment"),
        on("project", "destination_project_id", "create", "experiment"),
    ),
    ("PATCH", f"{_E}/{{experiment.id}}"): (
        on("experiment", "experiment.id", "edit", "experiment"),
    ),
    ("PUT", f"{_E}/{{experiment_id}}/labels/{{label}}"): _LABELS,
    ("DELETE", f"{_E}/{{experiment_id}}/labels/{{label}}"): _LABELS,
    ("PUT", f"{_E}/{{experiment_id}}/retain_logs"): (
        on("experiment", "experiment_id", "control", "experiment"),
    ),
    ("GET", f"{_E}/{{experiment_id}}/searcher/best_searcher_validation_metric"): _READS,
    ("GET", f"{_E}/{{experiment_id}}/validation-history"): _READS,
    ("GET", f"{_E}/metrics-stream/metric-names"): (on("experiment", "ids"),),
    ("GET", f"{_E}/{{experiment_id}}/metrics-stream/batches"): _READS,
    ("GET", f"{_E}/{{experiment_id}}/metrics-stream/trials-snapshot"): _READS,
    ("GET", f"{_E}/{{experiment_id}}/metrics-stream/trials-sample"): _READS,
    ("GET", f"{_E}/{{experiment_id}}/model_def"): _READS_FILES,
    ("GET", f"{_E}/{{experiment_id}}/file_tree"): _READS_FILES,
    ("POST", f"{_E}/{{experiment_id}}/file"): _READS_FILES,
    ("GET", "/experiments/{experiment_id}/model_def"): _READS_FILES,
    ("GET", "/experiments/{experiment_id}/file/download"): _READS_FILES,
    ("GET", "/experiments/{experiment_id}/preview_gc"): _READS_FILES,
    ("GET", f"{_E}/{{experiment_id}}/trials"): _READS,
    ("GET", f"{_E}/{{id}}/checkpoints"): (on("experiment", "id"),),
    ("GET", f"{_E}/{{id}}/story"): (on("experiment", "id"),),
    ("DELETE", f"{_E}/{{experiment_id}}/tensorboard-files"): (
        on("experiment", "experiment_id", "control", "experiment"),
    ),
    ("POST", f"{_V1}/runs"): "filters",
    **{
        ("POST", f"{_V1}/runs/{verb}"): "filters"
        for verb in ("kill", "pause", "resume", "archive", "unarchive", "delete")
    },
    ("POST", f"{_V1}/runs/move"): (
        on("project", "destination_project_id", "create", "experiment"),
    ),
}

_T = f"{_V1}/trials"
_READS_TRIAL = (on("trial", "trial_id"),)
_READS_TRIAL_ID = (on("trial", "id"),)
_READS_TRIALS = (on("trial", "trial_ids"),)
_READS_LOGS = (on("trial", "trial_id", "read", "checkpoint"),)
_REPORTS = (on("trial", "trial_id", "report", "task"),)

_TRIALS: Entries = {
    ("GET", f"{_T}/time-series"): _READS_TRIALS,
    ("GET", f"{_T}/{{trial_id}}"): _READS_TRIAL,
    ("GET", f"{_T}/{{id}}/checkpoints"): _READS_TRIAL_ID,
    ("GET", f"{_T}/{{trial_id}}/workloads"): _READS_TRIAL,
    ("PUT", f"{_T}/{{trial_id}}/retain_logs"): (on("trial", "trial_id", "control", "trial"),),
    ("GET", f"{_T}/{{id}}/remaining_log_retention_days"): _READS_TRIAL_ID,
    ("POST", f"{_T}/{{id}}/kill"): (on("trial", "id", "control", "experiment"),),
    ("GET", f"{_T}/{{id}}/story"): _READS_TRIAL_ID,
    ("POST", f"{_T}/{{trial_id}}/early_exit"): _REPORTS,
    ("POST", f"{_T}/{{trial_id}}/progress"): _REPORTS,
    ("POST", f"{_T}/{{trial_id}}/runner/metadata"): _REPORTS,
    ("GET", f"{_T}/metrics/trial_metrics"): _READS_TRIALS,
    ("GET", f"{_T}/metrics/training_metrics"): _READS_TRIALS,
    ("GET", f"{_T}/metrics/validation_metrics"): _READS_TRIALS,
    ("POST", _T): (on("experiment", "experiment_id", "create", "trial"),),
    ("PUT", _T): (on("experiment", "create_trial_request.experiment_id", "create", "trial"),),
    ("GET", f"{_T}/by-external-id/{{external_experiment_id}}/{{external_trial_id}}"): (
        on("external_experiment", "external_experiment_id"),
    ),
    ("POST", f"{_T}/{{trial_id}}/start"): _REPORTS,
    ("PATCH", f"{_T}/{{trial_id}}"): _REPORTS,
    ("POST", f"{_T}/profiler/metrics"): (
        on("trial", "batches.labels.trial_id", "report", "task"),
    ),
    ("GET", f"{_T}/{{trial_id}}/profiler/available_series"): _READS_TRIAL,
    ("GET", f"{_T}/{{labels.trial_id}}/profiler/metrics"): (on("trial", "labels.trial_id"),),
    ("POST", f"{_T}/{{metrics.trial_id}}/metrics"): (
        on("trial", "metrics.trial_id", "report", "task"),
    ),
    ("POST", f"{_T}/{{trial_id}}/metrics/batch"): _REPORTS,
    ("POST", f"{_T}/{{training_metrics.trial_id}}/training_metrics"): (
        on("trial", "training_metrics.trial_id", "report", "task"),
    ),
    ("POST", f"{_T}/{{validation_metrics.trial_id}}/validation_metrics"): (
        on("trial", "validation_metrics.trial_id", "report", "task"),
    ),
    ("GET", f"{_T}/{{trial_id}}/logs"): _READS_LOGS,
    ("GET", f"{_T}/{{trial_id}}/logs/fields"): _READS_LOGS,
    ("POST", f"{_V1}/runs/start"): (on("trial", "run_id", "report", "task"),),
    ("GET", f"{_V1}/runs/{{run_id}}/metadata"): (on("trial", "run_id"),),
    ("POST", f"{_V1}/runs/{{run_id}}/metadata"): (on("trial", "run_id", "report", "task"),),
    ("POST", f"{_V1}/trial-source-info"): (
        on("trial", "trial_source_info.trial_id", "report", "task"),
        maybe("checkpoint", "trial_source_info.checkpoint_uuid", "read", "checkpoint"),
    ),
}

_C = f"{_V1}/checkpoints"

_CHECKPOINTS: Entries = {
    ("POST", _C): (on("task", "checkpoint.task_id", "report", "task"),),
    ("GET", f"{_C}/{{checkpoint_uuid}}"): (on("checkpoint", "checkpoint_uuid"),),
    ("GET", f"{_C}/{{checkpoint_uuid}}/metrics"): (on("checkpoint", "checkpoint_uuid"),),
    ("GET", "/checkpoints/{uuid}"): (on("checkpoint", "uuid", "read", "checkpoint"),),
    ("GET", "/checkpoints/{uuid}/manifest"): (on("checkpoint", "uuid", "read", "checkpoint"),),
    ("POST", f"{_C}/{{checkpoint.uuid}}/metadata"): (
        on("checkpoint", "checkpoint.uuid", "edit", "experiment"),
    ),
    ("PATCH", _C): (on("checkpoint", "checkpoints.uuid", "delete", "checkpoint"),),
    ("DELETE", _C): (on("checkpoint", "checkpoint_uuids", "delete", "checkpoint"),),
    ("POST", f"{_C}/rm"): (on("checkpoint", "checkpoint_uuids", "delete", "checkpoint"),),
}

_K, _A = f"{_V1}/tasks", f"{_V1}/allocations"
_READS_TASK = (on("task", "task_id"),)
_CONTROLS_TASK = (on("task", "task_id", "control", "task"),)
_READS_ALLOCATION = (on("allocation", "allocation_id"),)
_REPORTS_ALLOCATION = (on("allocation", "allocation_id", "report", "task"),)

_TASKS: Entries = {
    ("GET", _K): "filters",
    ("GET", "/tasks"): "filters",
    ("GET", f"{_K}/count"): "open",
    ("GET", f"{_K}/{{task_id}}"): _READS_TASK,
    ("GET", f"{_K}/{{task_id}}/config"): _READS_TASK,
    ("POST", f"{_K}/{{task_id}}/kill"): _CONTROLS_TASK,
    ("POST", f"{_K}/{{task_id}}/pause"): _CONTROLS_TASK,
    ("POST", f"{_K}/{{task_id}}/unpause"): _CONTROLS_TASK,
    ("GET", f"{_K}/{{task_id}}/acceleratorData"): _READS_TASK,
    ("GET", f"{_K}/{{task_id}}/context_directory"): (on("task", "task_id", "read", "checkpoint"),),
    ("GET", f"{_K}/{{task_id}}/logs"): _READS_TASK,
    ("GET", f"{_K}/{{task_id}}/logs/fields"): _READS_TASK,
    ("POST", f"{_V1}/task/logs"): (on("task", "logs.task_id", "report", "task"),),
    ("POST", "/task-logs"): "asks",
    ("POST", f"{_V1}/generic-tasks"): (
        maybe("task", "parent_id", "control", "task"),
        maybe("task", "forked_from"),
    ),
    ("GET", f"{_A}/{{allocation_id}}"): _READS_ALLOCATION,
    ("GET", f"{_A}/{{id}}/story"): (on("allocation", "id"),),
    ("GET", f"{_A}/{{allocation_id}}/resources/{{resources_id}}/rendezvous"): _REPORTS_ALLOCATION,
    ("GET", f"{_A}/{{allocation_id}}/signals/preemption"): _REPORTS_ALLOCATION,
    **{
        ("POST", f"{_A}/{{allocation_id}}/{rest}"): _REPORTS_ALLOCATION
        for rest in (
            "signals/ack_preemption",
            "signals/pending_preemption",
            "ready",
            "waiting",
            "resources/{resources_id}/daemon",
            "all_gather",
            "acceleratorData",
            "proxy_address",
            "notify_container_running",
        )
    },
}


def _interactive(kind: Thing) -> Entries:
    """Routes that all kinds of interactive tasks have."""
    path, field = f"{_V1}/{kind}s", f"{kind}_id"
    one = f"{path}/{{{field}}}"
    return {
        ("GET", path): "filters",
        ("POST", path): (maybe("template", "template_name"),),
        ("GET", one): (on(kind, field),),
        ("POST", f"{one}/kill"): (on(kind, field, "control", "task"),),
        ("POST", f"{one}/set_priority"): (on(kind, field, "control", "task"),),
    }


_INTERACTIVE: Entries = {
    **_interactive("command"),
    **_interactive("notebook"),
    **_interactive("shell"),
    **_interactive("tensorboard"),
    ("POST", f"{_V1}/tensorboards"): (
        maybe("template", "template_name"),
        maybe("experiment", "experiment_ids", "read", "checkpoint"),
        maybe("trial", "trial_ids", "read", "checkpoint"),
    ),
    ("PUT", f"{_V1}/notebooks/{{notebook_id}}/report_idle"): (
        on("notebook", "notebook_id", "report", "task"),
    ),
    ("*", "/proxy/{service}/{path*}"): "asks",
}

RULES: Entries = {**_EXPERIMENTS, **_TRIALS, **_CHECKPOINTS, **_TASKS, **_INTERACTIVE}
"""By method and path as the route table spells them."""
