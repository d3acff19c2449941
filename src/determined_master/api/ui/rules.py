"""The rules of the domain that the web UI and `det` show before the master applies them."""

from __future__ import annotations

from determined_master.api.http.access import SIGNED_IN
from determined_master.api.http.routes import Call, route
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
from determined_wire.ui import rules as wire


def _action_rule(name: str, action: ExperimentAction) -> wire.ActionRule:
    eligible: frozenset[str] = action.states
    if "ACTIVE" in eligible:
        eligible |= states.SHOWN_WHEN_ACTIVE
    permission = next(iter(NEEDS[action.access, "experiment"]))
    return wire.ActionRule(
        id=name,
        label=action.label,
        done=action.done,
        needs=f"PERMISSION_TYPE_{permission.name}",
        states=sorted(eligible),
        otherwise=action.otherwise,
        archived=action.archived,
        includes_detached=action.includes_detached,
        includes_parts=action.includes_parts,
        inverse=action.inverse or "",
        warning=action.warning,
        is_destructive=action.is_destructive,
        experiments=_request(action.experiments),
        trials=_request(action.trials) if action.trials else None,
    )


def _request(request: Request) -> wire.ActionRequest:
    return wire.ActionRequest(method=request.method, path=request.path)


RULES = wire.GetRulesResponse(
    password=wire.PasswordRule(pattern=passwords.PATTERN, text=passwords.TEXT),
    states=wire.StateRule(unended=states.UNENDED, changing=sorted(states.CHANGING)),
    experiments=wire.ActionRules(
        actions=[_action_rule(name, action) for name, action in ACTIONS.items()],
        detached=DETACHED,
        part=PART,
        in_archive=IN_ARCHIVE,
    ),
)
"""`make docs` writes them into the web UI, too."""


@route("GET", "/api/ui/v1/rules", access=SIGNED_IN)
async def get_rules(call: Call, request: wire.GetRulesRequest) -> wire.GetRulesResponse:
    """The rule of new passwords, which states are no end, and the actions on experiments."""
    return RULES
