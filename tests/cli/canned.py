"""Answers of a master with one finished experiment, in the shapes of the observed wire samples."""

from __future__ import annotations

import base64
import dataclasses
import io
import tarfile
from typing import Any

T0 = "2026-11-21T05:00:00.123456Z"
T1 = "2026-11-21T05:10:00Z"
UUID = "0f4e9c1a-5b51-4f1e-8a8c-5a3d2f0e9b11"
NOT_SERVED = (501, {"error": {"code": 12, "reason": "Unimplemented", "error": "Not Implemented"}})

CONFIG: dict[str, Any] = {
    "name": "wirex",
    "entrypoint": "python3 train.py",
    "hyperparameters": {"lr": {"type": "const", "val": 0.1}},
    "searcher": {
        "name": "single",
        "metric": "loss",
        "smaller_is_better": True,
        "max_length": None,
    },
    "checkpoint_storage": {"type": "shared_fs", "host_path": "/nowhere", "storage_path": "cp"},
    "resources": {"resource_pool": "default", "slots_per_trial": 1},
}

USER = {
    "id": 2,
    "username": "determined",
    "admin": False,
    "active": True,
    "agentUserGroup": None,
    "displayName": "",
    "modifiedAt": T0,
    "remote": False,
    "lastAuthAt": T0,
}

EXPERIMENT: dict[str, Any] = {
    "id": 7,
    "description": "",
    "labels": ["a", "b"],
    "startTime": T0,
    "endTime": T1,
    "state": "STATE_COMPLETED",
    "archived": False,
    "numTrials": 1,
    "trialIds": [],
    "displayName": "determined",
    "userId": 2,
    "username": "determined",
    "resourcePool": "default",
    "searcherType": "single",
    "searcherMetric": "loss",
    "hyperparameters": {"lr": {"type": "const", "val": 0.1}},
    "name": "wirex",
    "notes": "",
    "jobId": UUID,
    "forkedFrom": None,
    "progress": 1,
    "projectId": 1,
    "projectName": "Uncategorized",
    "workspaceId": 1,
    "workspaceName": "Uncategorized",
    "parentArchived": False,
    "config": CONFIG,
    "originalConfig": "name: wirex\n",
    "projectOwnerId": 1,
    "checkpointSize": "31",
    "checkpointCount": 1,
    "unmanaged": False,
    "duration": 600,
}

_VALIDATION = {
    "endTime": T1,
    "metrics": {"avgMetrics": {"loss": 0.1}, "batchMetrics": []},
    "numInputs": 0,
    "totalBatches": 5,
}
_TRAINING = {
    "endTime": T1,
    "metrics": {"avgMetrics": {"loss": 0.2}, "batchMetrics": []},
    "numInputs": 0,
    "totalBatches": 5,
}
_RESOURCES = {"metadata.json": "26", "d/": "0", "d/x.txt": "5"}
_BEST_CHECKPOINT = {
    "uuid": UUID,
    "endTime": T1,
    "state": "STATE_COMPLETED",
    "resources": _RESOURCES,
    "totalBatches": 5,
    "metadata": None,
}

TRIAL: dict[str, Any] = {
    "id": 11,
    "experimentId": 7,
    "startTime": T0,
    "endTime": T1,
    "state": "STATE_COMPLETED",
    "restarts": 0,
    "hparams": {"lr": 0.1, "net": {"layers": 2}},
    "totalBatchesProcessed": 5,
    "bestValidation": _VALIDATION,
    "latestValidation": _VALIDATION,
    "bestCheckpoint": _BEST_CHECKPOINT,
    "runnerState": "",
    "wallClockTime": 600.5,
    "warmStartCheckpointUuid": "",
    "taskId": "7.task",
    "totalCheckpointSize": "31",
    "checkpointCount": 1,
    "summaryMetrics": {
        "avg_metrics": {"loss": {"count": 5, "last": 0.2, "max": 1, "mean": 0.4, "min": 0.2}},
        "validation_metrics": {"loss": {"count": 1, "last": 0.1, "max": 0.1, "min": 0.1}},
    },
    "taskIds": ["7.task"],
    "searcherMetricValue": 0,
}

CHECKPOINT: dict[str, Any] = {
    "taskId": "7.task",
    "allocationId": "7.task.1",
    "uuid": UUID,
    "reportTime": T1,
    "resources": _RESOURCES,
    "metadata": {"extra": {"k": "v"}, "steps_completed": 5},
    "state": "STATE_COMPLETED",
    "training": {
        "trialId": 11,
        "experimentId": 7,
        "experimentConfig": CONFIG,
        "hparams": {"lr": 0.1},
        "trainingMetrics": {"avgMetrics": {"loss": 0.2}, "batchMetrics": []},
        "validationMetrics": {"avgMetrics": {"loss": 0.1}, "batchMetrics": []},
        "searcherMetric": 0.1,
    },
    "storageId": 1,
}

_SLOT = {
    "id": "0",
    "device": {"id": 0, "brand": "Some CPU x 2 cores", "uuid": "Vendor", "type": "TYPE_CPU"},
    "enabled": True,
    "container": None,
    "draining": False,
}
AGENT: dict[str, Any] = {
    "id": "a1",
    "registeredTime": T0,
    "slots": {"/agents/a1/slots/0": _SLOT},
    "containers": {},
    "addresses": ["127.0.0.1"],
    "enabled": True,
    "draining": False,
    "version": "0.38.1",
    "resourcePools": ["default"],
    "slotStats": {"typeStats": {}, "brandStats": {}},
}

INFO = {
    "version": "0.38.1",
    "master_id": UUID,
    "cluster_id": UUID,
    "cluster_name": "",
    "telemetry": {"enabled": False, "otel_enabled": False, "otel_endpoint": ""},
    "sso_providers": None,
}

MASTER = {
    "version": "0.38.1",
    "masterId": UUID,
    "clusterId": UUID,
    "clusterName": "",
    "telemetryEnabled": False,
    "ssoProviders": [],
    "externalLoginUri": "",
    "externalLogoutUri": "",
    "branding": "determined",
    "rbacEnabled": False,
    "product": "PRODUCT_UNSPECIFIED",
    "featureSwitches": [],
    "userManagementEnabled": True,
    "strictJobQueueControl": False,
    "hasCustomLogo": False,
}


@dataclasses.dataclass(frozen=True)
class Stream:
    """Messages of a streaming answer, sent as `{"result": …}` lines."""

    messages: list[dict[str, Any]]
    breaks_off: bool = False


def log_line(number: int, text: str) -> dict[str, Any]:
    stamp = "2026-11-21T05:59:59.123456Z"
    return {
        "id": str(number),
        "timestamp": stamp,
        "message": f"[{stamp}] ffaf3b08 [rank=0] || INFO: {text}\n",
        "level": "LOG_LEVEL_INFO",
        "trialId": 11,
        "agentId": "a1",
        "containerId": "ffaf3b08-0000-0000-0000-000000000000",
        "rankId": 0,
        "log": f"{text}\n",
        "source": "task",
        "stdtype": "stdout",
    }


def page(key: str, *items: dict[str, Any]) -> dict[str, Any]:
    """A list answer with all items."""
    count = len(items)
    bounds = {"offset": 0, "limit": 0, "startIndex": 0, "endIndex": count, "total": count}
    return {key: list(items), "pagination": bounds}


def model_def() -> str:
    """The base64 text of a tar.gz with one file."""
    raw = io.BytesIO()
    with tarfile.open(fileobj=raw, mode="w:gz") as tar:
        info = tarfile.TarInfo("train.py")
        info.size = 5
        tar.addfile(info, io.BytesIO(b"pass\n"))
    return base64.b64encode(raw.getvalue()).decode()


def routes() -> dict[tuple[str, str], tuple[int, Any]]:
    """Every route of the canned master: (method, path) -> (status, body)."""
    api = "/api/v1"
    workloads = [{"training": _TRAINING}, {"validation": _VALIDATION}]
    workloads += [{"checkpoint": _BEST_CHECKPOINT}]
    outer = {"experiment": EXPERIMENT, "jobSummary": None, "config": CONFIG}
    logs = Stream([log_line(1, "first"), log_line(2, "second")])
    served: dict[tuple[str, str], tuple[int, Any]] = {
        ("GET", "/info"): (200, INFO),
        ("GET", f"{api}/master"): (200, MASTER),
        ("GET", "/api/ui/v1/rules"): (200, {"password": {"pattern": ".{8}", "text": "give 8"}}),
        ("GET", f"{api}/master/config"): (200, {"config": {"port": 8080, "db": None}}),
        ("GET", f"{api}/master/logs"): (
            200,
            Stream(
                [
                    {
                        "logEntry": {
                            "id": 0,
                            "message": "up",
                            "timestamp": T0,
                            "level": "LOG_LEVEL_INFO",
                        }
                    }
                ]
            ),
        ),
        ("POST", f"{api}/auth/login"): (200, {"token": "v2.token", "user": USER}),
        ("POST", f"{api}/auth/logout"): (200, {}),
        ("GET", f"{api}/me"): (200, {"user": USER}),
        ("GET", f"{api}/users"): (200, page("users", USER)),
        ("GET", f"{api}/agents"): (200, page("agents", AGENT)),
        ("GET", f"{api}/tasks"): (200, {"allocationIdToSummary": {}}),
        ("GET", f"{api}/experiments"): (200, page("experiments", EXPERIMENT)),
        ("POST", f"{api}/experiments"): (
            200,
            {"experiment": EXPERIMENT, "config": CONFIG, "warnings": []},
        ),
        ("GET", f"{api}/experiments/7"): (200, outer),
        ("GET", f"{api}/experiments/7/trials"): (200, page("trials", TRIAL)),
        ("GET", f"{api}/experiments/7/checkpoints"): (200, page("checkpoints", CHECKPOINT)),
        ("GET", f"{api}/experiments/7/model_def"): (200, {"b64Tgz": model_def()}),
        ("GET", f"{api}/trials/11"): (200, {"trial": TRIAL}),
        ("GET", f"{api}/trials/11/workloads"): (
            200,
            {**page("workloads", *workloads)},
        ),
        ("GET", f"{api}/trials/11/checkpoints"): (200, page("checkpoints", CHECKPOINT)),
        ("GET", f"{api}/trials/11/logs"): (200, logs),
        ("POST", f"{api}/trials/11/kill"): (200, {}),
        ("GET", f"{api}/checkpoints/{UUID}"): (200, {"checkpoint": CHECKPOINT}),
    }
    for action in ("pause", "activate", "cancel", "kill"):
        served[("POST", f"{api}/experiments/7/{action}")] = (200, {})
    return served
