"""For which waiting requests the budgets of workspaces allow no further machine."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Literal, NamedTuple

import msgspec

Workload = Literal["EXPERIMENT", "NTSC"]
"""As config policies name the kinds of work."""
_TOLERANCE = 1e-9
"""Sums of prices are not exact: three tasks of 0.1 are within 0.3."""
_NOUNS: Mapping[Workload, str] = {"EXPERIMENT": "experiments", "NTSC": "tasks"}


class Spender(NamedTuple):
    """The work whose cost is limited: all of one kind in one workspace."""

    workspace_id: int
    workload: Workload


class WorkspaceBudget(msgspec.Struct, frozen=True):
    """Dollars an hour of one kind of work in a workspace."""

    limit: float
    scope: str
    """Whose config policy sets it: `the cluster` or `workspace 'vision'`."""


Budgets = Mapping[tuple[int | None, Workload], WorkspaceBudget]
"""By workspace and kind of work; those of the cluster have the workspace None."""


class BudgetedRequest(msgspec.Struct, frozen=True):
    """A request that waits, and the dollars an hour of its slots."""

    allocation_id: str
    spender: Spender
    cost: float


def budget_of(spender: Spender, budgets: Budgets) -> WorkspaceBudget | None:
    """The budget that applies: as with all constraints, the cluster's replaces the workspace's."""
    above = budgets.get((None, spender.workload))
    own = budgets.get((spender.workspace_id, spender.workload))
    return above if above is not None else own


def over_budget(
    waiting: Iterable[BudgetedRequest], spent: Mapping[Spender, float], budgets: Budgets
) -> dict[str, str]:
    """The requests for which no machine starts, each with the reason.

    A request that is too expensive holds nobody back: a later one may fit into the rest.

    Args:
        waiting: requests in the order of the queue.
        spent: dollars an hour of the slots that each workspace holds.
        budgets: of config policies.
    """
    found: dict[str, str] = {}
    planned = dict(spent)
    for request in waiting:
        budget = budget_of(request.spender, budgets)
        if budget is None:
            continue
        cost = planned.get(request.spender, 0.0) + request.cost
        if cost <= budget.limit + _TOLERANCE:
            planned[request.spender] = cost
        else:
            found[request.allocation_id] = _reason(request, budget, cost - request.cost)
    return found


def _reason(request: BudgetedRequest, budget: WorkspaceBudget, cost: float) -> str:
    work = _NOUNS[request.spender.workload]
    return (
        f"no machine is started for it: max_cost_per_hour of {budget.scope} allows "
        f"{budget.limit:.4g} USD for {work} of a workspace; those that run or are ahead of it "
        f"cost {cost:.4g} USD, and it needs {request.cost:.4g} USD; an admin can raise the limit "
        "with `det config-policies set`"
    )
