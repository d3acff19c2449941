"""Why a trial or an experiment is in its state."""

from typing import Any

from determined.common.api import errors


def reason_of(session: Any, path: str) -> str:
    """Why the thing of this path of the API is in its state; empty where that needs no reason.

    Of a failure, it begins with the cause: `KeyError: 'lr' · train.py:40; …`. A master of 0.38.1
    keeps no stories and gives none.
    """
    try:
        body = session.get(f"{path}/story", params={"limit": 1}).json()
    except errors.BadRequestException:
        return ""
    return str(body.get("reason") or "")
