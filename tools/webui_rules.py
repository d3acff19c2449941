"""The rules of the domain as a module of the web UI, which needs them before any request."""

from __future__ import annotations

import json

from determined_master.api.http.protojson import encode
from determined_master.api.ui.rules import RULES


def webui_rules() -> str:
    """What `GET /api/ui/v1/rules` answers, with the types of its values."""
    text = json.dumps(json.loads(encode(RULES)), indent=2, ensure_ascii=False)
    return (
        "/** `GET /api/ui/v1/rules`, written by `make docs` from the master's domain. */\n"
        f"export const rules = {text} as const;\n"
    )
