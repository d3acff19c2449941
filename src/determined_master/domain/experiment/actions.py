"""Actions of users on experiments and trials, and the conditions of each.

The machine of the experiment decides; this catalogue states its decisions as data. Pages, lists
and menus of the web UI read it from the rules that the master serves (`api/ui/rules.py`).
"""

from __future__ import annotations

from typing import Literal

import msgspec

from determined_master.domain.access.rules import Action
from determined_master.domain.states import STOPPING, TERMINAL, UNENDED, RunState

ActionId = Literal["pause", "resume", "cancel", "kill", "archive", "unarchive", "move", "delete"]

DETACHED = "detached: stop its script"
PART = "one of several trials of an experiment"
IN_ARCHIVE = "in an archived project"
"""Reasons of all actions; like the others, each continues `it is`."""


class Request(msgspec.Struct, frozen=True):
    """The route of an action on many."""

    path: str
    method: str = "POST"


class ExperimentAction(msgspec.Struct, frozen=True, kw_only=True):
    label: str
    done: str
    """The result for one experiment."""
    access: Action = "control"
    states: frozenset[RunState]
    otherwise: str
    """Why an experiment in another state is left out."""
    archived: bool | None = None
    """Which of archived and other experiments are meant; None for both."""
    includes_detached: bool = True
    includes_parts: bool = True
    """Whether one of several trials of an experiment is meant, too."""
    inverse: ActionId | None = None
    warning: str = ""
    """Shown with the question of an action without an inverse."""
    is_destructive: bool = False
    experiments: Request
    trials: Request | None


def _on_experiments(name: str, method: str = "POST") -> Request:
    return Request(f"/api/v1/projects/{{project_id}}/experiments/{name}", method)


ACTIONS: dict[ActionId, ExperimentAction] = {
    "pause": ExperimentAction(
        label="Pause",
        done="Pausing: the trials save their work and give back their slots",
        states=frozenset({"ACTIVE"}),
        otherwise="not running",
        includes_detached=False,
        includes_parts=False,
        inverse="resume",
        experiments=_on_experiments("pause"),
        trials=Request("/api/v1/runs/pause"),
    ),
    "resume": ExperimentAction(
        label="Resume",
        done="Resumed",
        states=frozenset({"PAUSED"}),
        otherwise="not paused",
        includes_detached=False,
        includes_parts=False,
        inverse="pause",
        experiments=_on_experiments("activate"),
        trials=Request("/api/v1/runs/resume"),
    ),
    "cancel": ExperimentAction(
        label="Stop",
        done="Stopping: the trials save their work first",
        states=frozenset(UNENDED) - STOPPING,
        otherwise="stopping, or has ended",
        includes_detached=False,
        warning="Trials save their work, and end.",
        experiments=_on_experiments("cancel"),
        trials=None,
    ),
    "kill": ExperimentAction(
        label="Kill",
        done="Killed",
        states=frozenset(UNENDED),
        otherwise="at its end",
        includes_detached=False,
        warning="Trials end at once. Work after the last checkpoint is lost.",
        is_destructive=True,
        experiments=_on_experiments("kill"),
        trials=Request("/api/v1/runs/kill"),
    ),
    "archive": ExperimentAction(
        label="Archive",
        done="Archived",
        states=TERMINAL,
        otherwise="not at its end",
        archived=False,
        inverse="unarchive",
        experiments=_on_experiments("archive"),
        trials=Request("/api/v1/runs/archive"),
    ),
    "unarchive": ExperimentAction(
        label="Unarchive",
        done="Unarchived",
        states=TERMINAL,
        otherwise="not at its end",
        archived=True,
        inverse="archive",
        experiments=_on_experiments("unarchive"),
        trials=Request("/api/v1/runs/unarchive"),
    ),
    "move": ExperimentAction(
        label="Move…",
        done="Moved",
        states=frozenset(UNENDED) | TERMINAL,
        otherwise="being deleted",
        archived=False,
        includes_parts=False,
        inverse="move",
        experiments=_on_experiments("move"),
        trials=Request("/api/v1/runs/move"),
    ),
    "delete": ExperimentAction(
        label="Delete",
        done="The deletion has begun",
        access="delete",
        states=TERMINAL | {"DELETE_FAILED"},
        otherwise="not at its end",
        warning="Trials, metrics, logs and checkpoints are deleted. Registered checkpoints stay.",
        is_destructive=True,
        experiments=_on_experiments("delete", "DELETE"),
        trials=Request("/api/v1/runs/delete"),
    ),
}
