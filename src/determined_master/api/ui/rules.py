"""The rules of the domain that the web UI and `det` show before the master applies them."""

from __future__ import annotations

from determined_master.api.http.access import SIGNED_IN
from determined_master.api.http.routes import Call, route
from determined_master.api.shapes import struct_of
from determined_master.domain import states
from determined_master.domain.access import passwords
from determined_master.domain.access.needs import NEEDS
from determined_master.domain.experiment.actions import (
    ACTIONS,
    DETACHED,
    IN_ARCHIVE,
    PART,
    ExperimentAction,
    Request,
)
from determined_master.domain.task import actions as task_actions
from determined_master.domain.task.actions import TaskAction
from determined_wire.ui import rules as wire


def _needs(action: str, thing: str) -> list[str]:
    """The permissions of which a user needs one."""
    return sorted(f"PERMISSION_TYPE_{p.name}" for p in NEEDS[action, thing])


def _shown(stored: frozenset[str]) -> list[str]:
    return sorted(stored | states.SHOWN_WHEN_ACTIVE if "ACTIVE" in stored else stored)


def _task_rule(name: str, action: TaskAction) -> wire.TaskActionRule:
    return struct_of(wire.TaskActionRule, action, id=name, states=_shown(action.states))


def _action_rule(name: str, action: ExperimentAction) -> wire.ActionRule:
    return struct_of(
        wire.ActionRule,
        action,
        id=name,
        needs=_needs(action.access, "experiment")[0],
        states=_shown(frozenset(action.states)),
        inverse=action.inverse or "",
        experiments=_request(action.experiments),
        trials=_request(action.trials) if action.trials else None,
    )


def _request(request: Request) -> wire.ActionRequest:
    return struct_of(wire.ActionRequest, request)


RULES = wire.GetRulesResponse(
    password=wire.PasswordRule(pattern=passwords.PATTERN, text=passwords.TEXT),
    states=wire.StateRule(unended=states.UNENDED, changing=sorted(states.CHANGING)),
    experiments=wire.ActionRules(
        actions=[_action_rule(name, action) for name, action in ACTIONS.items()],
        detached=DETACHED,
        part=PART,
        in_archive=IN_ARCHIVE,
    ),
    tasks=wire.TaskRules(
        needs=_needs("control", "task"),
        actions=[_task_rule(name, action) for name, action in task_actions.ACTIONS.items()],
        no_pause=task_actions.NO_PAUSE,
        not_generic=task_actions.NOT_GENERIC,
    ),
    queue=wire.QueueRules(
        needs=_needs("control", "queue"), needs_if_strict=_needs("configure", "queue")
    ),
)
"""`make docs` writes them into the web UI, too."""


@route("GET", "/api/ui/v1/rules", access=SIGNED_IN)
async def get_rules(call: Call, request: wire.GetRulesRequest) -> wire.GetRulesResponse:
    """The rules of new passwords, of states, and of actions on experiments, tasks and jobs."""
    return RULES
