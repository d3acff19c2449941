/** `GET /api/ui/v1/rules`, written by `make docs` from the master's domain. */
export const rules = {
  "password": {
    "pattern": "^(?=[\\s\\S]*\\S)[\\s\\S]{8,}$",
    "text": "give at least 8 characters, not all of them blank"
  },
  "states": {
    "unended": [
      "ACTIVE",
      "RUNNING",
      "PAUSED",
      "STOPPING_COMPLETED",
      "STOPPING_CANCELED",
      "STOPPING_KILLED",
      "STOPPING_ERROR"
    ],
    "changing": [
      "ACTIVE",
      "ASSIGNED",
      "DELETING",
      "PAUSED",
      "PENDING",
      "PULLING",
      "QUEUED",
      "RUNNING",
      "STARTING",
      "STOPPING_CANCELED",
      "STOPPING_COMPLETED",
      "STOPPING_ERROR",
      "STOPPING_KILLED",
      "STOPPING_PAUSED",
      "TERMINATING",
      "WAITING"
    ]
  },
  "experiments": {
    "actions": [
      {
        "id": "pause",
        "label": "Pause",
        "done": "Pausing: the trials save their work and give back their slots",
        "needs": "PERMISSION_TYPE_UPDATE_EXPERIMENT",
        "states": [
          "ACTIVE",
          "PULLING",
          "QUEUED",
          "RUNNING",
          "STARTING"
        ],
        "otherwise": "not running",
        "archived": null,
        "includesDetached": false,
        "includesParts": false,
        "inverse": "resume",
        "warning": "",
        "isDestructive": false,
        "experiments": {
          "method": "POST",
          "path": "/api/v1/projects/{project_id}/experiments/pause"
        },
        "trials": {
          "method": "POST",
          "path": "/api/v1/runs/pause"
        }
      },
      {
        "id": "resume",
        "label": "Resume",
        "done": "Resumed",
        "needs": "PERMISSION_TYPE_UPDATE_EXPERIMENT",
        "states": [
          "PAUSED"
        ],
        "otherwise": "not paused",
        "archived": null,
        "includesDetached": false,
        "includesParts": false,
        "inverse": "pause",
        "warning": "",
        "isDestructive": false,
        "experiments": {
          "method": "POST",
          "path": "/api/v1/projects/{project_id}/experiments/activate"
        },
        "trials": {
          "method": "POST",
          "path": "/api/v1/runs/resume"
        }
      },
      {
        "id": "cancel",
        "label": "Stop",
        "done": "Stopping: the trials save their work first",
        "needs": "PERMISSION_TYPE_UPDATE_EXPERIMENT",
        "states": [
          "ACTIVE",
          "PAUSED",
          "PULLING",
          "QUEUED",
          "RUNNING",
          "STARTING"
        ],
        "otherwise": "stopping, or has ended",
        "archived": null,
        "includesDetached": false,
        "includesParts": true,
        "inverse": "",
        "warning": "Trials save their work, and end.",
        "isDestructive": false,
        "experiments": {
          "method": "POST",
          "path": "/api/v1/projects/{project_id}/experiments/cancel"
        },
        "trials": null
      },
      {
        "id": "kill",
        "label": "Kill",
        "done": "Killed",
        "needs": "PERMISSION_TYPE_UPDATE_EXPERIMENT",
        "states": [
          "ACTIVE",
          "PAUSED",
          "PULLING",
          "QUEUED",
          "RUNNING",
          "STARTING",
          "STOPPING_CANCELED",
          "STOPPING_COMPLETED",
          "STOPPING_ERROR",
          "STOPPING_KILLED"
        ],
        "otherwise": "at its end",
        "archived": null,
        "includesDetached": false,
        "includesParts": true,
        "inverse": "",
        "warning": "Trials end at once. Work after the last checkpoint is lost.",
        "isDestructive": true,
        "experiments": {
          "method": "POST",
          "path": "/api/v1/projects/{project_id}/experiments/kill"
        },
        "trials": {
          "method": "POST",
          "path": "/api/v1/runs/kill"
        }
      },
      {
        "id": "archive",
        "label": "Archive",
        "done": "Archived",
        "needs": "PERMISSION_TYPE_UPDATE_EXPERIMENT",
        "states": [
          "CANCELED",
          "COMPLETED",
          "ERROR"
        ],
        "otherwise": "not at its end",
        "archived": false,
        "includesDetached": true,
        "includesParts": true,
        "inverse": "unarchive",
        "warning": "",
        "isDestructive": false,
        "experiments": {
          "method": "POST",
          "path": "/api/v1/projects/{project_id}/experiments/archive"
        },
        "trials": {
          "method": "POST",
          "path": "/api/v1/runs/archive"
        }
      },
      {
        "id": "unarchive",
        "label": "Unarchive",
        "done": "Unarchived",
        "needs": "PERMISSION_TYPE_UPDATE_EXPERIMENT",
        "states": [
          "CANCELED",
          "COMPLETED",
          "ERROR"
        ],
        "otherwise": "not at its end",
        "archived": true,
        "includesDetached": true,
        "includesParts": true,
        "inverse": "archive",
        "warning": "",
        "isDestructive": false,
        "experiments": {
          "method": "POST",
          "path": "/api/v1/projects/{project_id}/experiments/unarchive"
        },
        "trials": {
          "method": "POST",
          "path": "/api/v1/runs/unarchive"
        }
      },
      {
        "id": "move",
        "label": "Move…",
        "done": "Moved",
        "needs": "PERMISSION_TYPE_UPDATE_EXPERIMENT",
        "states": [
          "ACTIVE",
          "CANCELED",
          "COMPLETED",
          "ERROR",
          "PAUSED",
          "PULLING",
          "QUEUED",
          "RUNNING",
          "STARTING",
          "STOPPING_CANCELED",
          "STOPPING_COMPLETED",
          "STOPPING_ERROR",
          "STOPPING_KILLED"
        ],
        "otherwise": "being deleted",
        "archived": false,
        "includesDetached": true,
        "includesParts": false,
        "inverse": "move",
        "warning": "",
        "isDestructive": false,
        "experiments": {
          "method": "POST",
          "path": "/api/v1/projects/{project_id}/experiments/move"
        },
        "trials": {
          "method": "POST",
          "path": "/api/v1/runs/move"
        }
      },
      {
        "id": "delete",
        "label": "Delete",
        "done": "The deletion has begun",
        "needs": "PERMISSION_TYPE_DELETE_EXPERIMENT",
        "states": [
          "CANCELED",
          "COMPLETED",
          "DELETE_FAILED",
          "ERROR"
        ],
        "otherwise": "not at its end",
        "archived": null,
        "includesDetached": true,
        "includesParts": true,
        "inverse": "",
        "warning": "Trials, metrics, logs and checkpoints are deleted. Registered checkpoints stay.",
        "isDestructive": true,
        "experiments": {
          "method": "DELETE",
          "path": "/api/v1/projects/{project_id}/experiments/delete"
        },
        "trials": {
          "method": "POST",
          "path": "/api/v1/runs/delete"
        }
      }
    ],
    "detached": "detached: stop its script",
    "part": "one of several trials of an experiment",
    "inArchive": "in an archived project"
  },
  "tasks": {
    "needs": [
      "PERMISSION_TYPE_UPDATE_EXPERIMENT",
      "PERMISSION_TYPE_UPDATE_NSC"
    ],
    "actions": [
      {
        "id": "pause",
        "label": "Pause",
        "done": "Paused",
        "states": [
          "ACTIVE",
          "PULLING",
          "QUEUED",
          "RUNNING",
          "STARTING"
        ],
        "otherwise": "not running",
        "isGeneric": true
      },
      {
        "id": "unpause",
        "label": "Unpause",
        "done": "Unpaused",
        "states": [
          "PAUSED"
        ],
        "otherwise": "not paused",
        "isGeneric": true
      },
      {
        "id": "kill",
        "label": "Kill",
        "done": "Killed",
        "states": [
          "ACTIVE",
          "ASSIGNED",
          "DELETING",
          "PAUSED",
          "PENDING",
          "PULLING",
          "QUEUED",
          "RUNNING",
          "STARTING",
          "STOPPING_CANCELED",
          "STOPPING_COMPLETED",
          "STOPPING_ERROR",
          "STOPPING_KILLED",
          "STOPPING_PAUSED",
          "TERMINATING",
          "WAITING"
        ],
        "otherwise": "at its end",
        "isGeneric": false
      }
    ],
    "noPause": "created with no_pause: kill it instead",
    "notGeneric": "not a generic task"
  },
  "queue": {
    "needs": [
      "PERMISSION_TYPE_CONTROL_STRICT_JOB_QUEUE",
      "PERMISSION_TYPE_UPDATE_EXPERIMENT",
      "PERMISSION_TYPE_UPDATE_NSC"
    ],
    "needsIfStrict": [
      "PERMISSION_TYPE_CONTROL_STRICT_JOB_QUEUE"
    ]
  }
} as const;
