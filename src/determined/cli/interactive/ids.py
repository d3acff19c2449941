"""Completes prefixes of task IDs."""

from __future__ import annotations

import re

from determined.cli import errors, pagination
from determined.cli.interactive.kinds import TaskKind
from determined.common.api import BaseSession

_FULL = re.compile(r"[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}")


def full(session: BaseSession, kind: TaskKind, prefix: str) -> str:
    """The full ID that starts with `prefix`.

    Returns:
        `prefix` itself if it is a full ID, or if no listed ID matches: then the master reports
        that the task does not exist.

    Raises:
        CliError: several IDs match; the text lists them.
    """
    if _FULL.fullmatch(prefix):
        return prefix
    listed = [task["id"] for task in pagination.fetch(session, kind.path, kind.many, {})]
    matches = sorted(task_id for task_id in listed if task_id.startswith(prefix))
    if len(matches) > 1:
        raise errors.CliError(
            f"{len(matches)} {kind.title} IDs start with '{prefix}': {', '.join(matches[:10])}; "
            "give a longer prefix"
        )
    return matches[0] if matches else prefix
