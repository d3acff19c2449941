"""Whose processes an agent's are, where it cannot choose."""

from __future__ import annotations

import os
import pwd


def own_account() -> str:
    """The name of the user that this agent, and each process of it, runs as.

    Returns:
        Empty for root, which starts processes of any user, and for a number without a name.
    """
    uid = os.getuid()
    if uid == 0:
        return ""
    try:
        return pwd.getpwuid(uid).pw_name
    except KeyError:
        return ""
