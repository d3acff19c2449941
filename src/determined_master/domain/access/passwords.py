"""The rule of new passwords. The web UI and `det` get it from `GET /api/ui/v1/rules`."""

from __future__ import annotations

import re

PATTERN = r"^(?=[\s\S]*\S)[\s\S]{8,}$"
"""Of a password in the clear; JavaScript (with the flag `u`) and Python read it alike."""

TEXT = "give at least 8 characters, not all of them blank"


def refusal(password: str) -> str | None:
    """Why a user cannot get this password; None if they can."""
    if re.match(PATTERN, password):
        return None
    return f"the password has {len(password)} characters: {TEXT}"
