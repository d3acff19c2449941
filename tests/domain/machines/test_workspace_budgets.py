"""Budgets of workspaces: for which requests no machine starts."""

from __future__ import annotations

from typing import Any

from hypothesis import given
from hypothesis import strategies as st

from determined_master.domain.machines.workspace_budgets import (
    BudgetedRequest,
    Spender,
    WorkspaceBudget,
    budget_of,
    over_budget,
)

VISION = Spender(7, "EXPERIMENT")
BUDGETS: Any = {(7, "EXPERIMENT"): WorkspaceBudget(1.0, "workspace 'vision'")}


def demand(id: str, cost: float, spender: Spender = VISION) -> BudgetedRequest:
    return BudgetedRequest(id, spender, cost)


def test_a_workspace_within_its_budget_waits_for_nothing() -> None:
    assert over_budget([demand("a", 0.5)], {VISION: 0.5}, BUDGETS) == {}


def test_a_request_above_the_rest_of_the_budget_gets_no_machine_and_a_reason() -> None:
    assert over_budget([demand("a", 0.6)], {VISION: 0.5}, BUDGETS) == {
        "a": "no machine is started for it: max_cost_per_hour of workspace 'vision' allows 1 USD "
        "for experiments of a workspace; those that run or are ahead of it cost 0.5 USD, and it "
        "needs 0.6 USD; an admin can raise the limit with `det config-policies set`"
    }


def test_requests_that_are_ahead_count_and_expensive_ones_hold_nobody_back() -> None:
    waiting = [demand("a", 0.6), demand("b", 0.6), demand("c", 0.4)]
    assert over_budget(waiting, {}, BUDGETS).keys() == {"b"}


def test_other_workspaces_and_other_kinds_of_work_are_free() -> None:
    others = [demand("a", 9.0, Spender(8, "EXPERIMENT")), demand("b", 9.0, Spender(7, "NTSC"))]
    assert over_budget(others, {}, BUDGETS) == {}


def test_the_budget_of_the_cluster_replaces_that_of_a_workspace() -> None:
    both = {**BUDGETS, (None, "EXPERIMENT"): WorkspaceBudget(2.0, "the cluster")}
    assert budget_of(VISION, both) == WorkspaceBudget(2.0, "the cluster")
    assert budget_of(Spender(8, "EXPERIMENT"), both) == WorkspaceBudget(2.0, "the cluster")
    assert budget_of(Spender(8, "NTSC"), both) is None


def test_each_workspace_has_the_budget_of_the_cluster_for_itself() -> None:
    budgets: Any = {(None, "EXPERIMENT"): WorkspaceBudget(1.0, "the cluster")}
    waiting = [demand("a", 1.0), demand("b", 1.0, Spender(8, "EXPERIMENT")), demand("c", 1.0)]
    assert over_budget(waiting, {}, budgets).keys() == {"c"}


def test_sums_that_are_not_exact_are_within_the_budget() -> None:
    budgets: Any = {(7, "EXPERIMENT"): WorkspaceBudget(0.3, "workspace 'vision'")}
    assert over_budget([demand(str(n), 0.1) for n in range(3)], {}, budgets) == {}


@given(st.lists(st.floats(0.01, 10)), st.floats(0, 20), st.floats(0.01, 50))
def test_allowed_requests_never_exceed_the_budget(
    costs: list[float], spent: float, limit: float
) -> None:
    budgets: Any = {(7, "EXPERIMENT"): WorkspaceBudget(limit, "workspace 'vision'")}
    waiting = [demand(str(n), cost) for n, cost in enumerate(costs)]
    refused = over_budget(waiting, {VISION: spent}, budgets)
    allowed = sum(d.cost for d in waiting if d.allocation_id not in refused)
    assert allowed == 0 or spent + allowed <= limit + 1e-6
