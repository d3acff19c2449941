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
  }
} as const;
