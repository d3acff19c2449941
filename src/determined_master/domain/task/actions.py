"""Actions of users on tasks, and the conditions of each.

The machines decide; this catalogue states it as data. The web UI reads it from the rules that the
master serves (`api/ui/rules.py`).
"""

from __future__ import annotations

import msgspec

from determined_master.domain.states import CHANGING

NO_PAUSE = "created with no_pause: kill it instead"
NOT_GENERIC = "not a generic task"
"""Reasons; each continues `it is`."""


class TaskAction(msgspec.Struct, frozen=True, kw_only=True):
    label: str
    done: str
    states: frozenset[str]
    otherwise: str
    """Why a task in another state is left out."""
    is_generic: bool = True
    """Whether only generic tasks are meant."""


ACTIONS = {
    "pause": TaskAction(
        label="Pause", done="Paused", states=frozenset({"ACTIVE"}), otherwise="not running"
    ),
    "unpause": TaskAction(
        label="Unpause", done="Unpaused", states=frozenset({"PAUSED"}), otherwise="not paused"
    ),
    "kill": TaskAction(
        label="Kill", done="Killed", states=CHANGING, otherwise="at its end", is_generic=False
    ),
}
