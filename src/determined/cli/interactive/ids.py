"""Interactive tasks by the beginning of their ids."""

from __future__ import annotations

import re

from determined.cli import errors, pagination
from determined.cli.interactive.kinds import TaskKind
from determined.common.api import BaseSession

_FULL = re.compile(r"[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}")


def full(session: BaseSession, kind: TaskKind, given: str) -> str:
    """The id that begins as given.

    Returns:
        What was given where it is a full id, or where nothing listed begins so: the master
        then says that there is no such task.

    Raises:
        CliError: several begin so; they are named.
    """
    if _FULL.fullmatch(given):
        return given
    listed = [task["id"] for task in pagination.fetch(session, kind.path, kind.many, {})]
    found = sorted(task_id for task_id in listed if task_id.startswith(given))
    if len(found) > 1:
        raise errors.CliError(
            f"{len(found)} {kind.title}s begin with '{given}': {', '.join(found[:10])}; "
            "give more of the ID"
        )
    return found[0] if found else given
