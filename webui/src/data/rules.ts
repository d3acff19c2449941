/** `GET /api/ui/v1/rules`, written by `make docs` from the master's domain. */
export const rules = {
  "password": {
    "pattern": "^(?=[\\s\\S]*\\S)[\\s\\S]{8,}$",
    "text": "give at least 8 characters, not all of them blank"
  }
} as const;
