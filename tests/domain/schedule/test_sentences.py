"""The sentence that tells a user why a request waits, for each kind of wait."""

from __future__ import annotations

from typing import Any

import pytest
from msgspec.structs import replace
from tests.domain.builders import agent, pending

from determined_master.domain.schedule.plan import (
    Behind,
    Draining,
    Full,
    HandedOver,
    Impossible,
    LacksResources,
    Leaving,
    NoDomain,
    OverLimit,
    OverQuota,
    OverShare,
    Wait,
)
from determined_master.domain.schedule.reasons import reason, reason_without_ids
from determined_master.domain.schedule.view import PoolView, Rules, Size

MACHINES = Rules(machines=Size(slots=4, zero_slot_tasks=1, max_machines=2))
FULL = agent("a", 4, free=0)


def sentence(
    wait: Wait, slots: int = 2, rules: Rules | None = None, agents: Any = (FULL,), **fields: Any
) -> str:
    request = pending("x", slots, **fields)
    view = PoolView(pool="p", agents=agents, pending=(request,), rules=rules or Rules())
    return reason(view, request, wait)


def test_a_request_for_which_others_leave_names_their_agents() -> None:
    assert sentence(Leaving("x", ("a", "b"))) == (
        "is next; waits for 2 slots on a, b, where others were preempted"
    )


def test_a_request_for_which_agents_are_kept_names_the_patience() -> None:
    assert sentence(Draining("x", ("a",)), rules=Rules(gang_patience_s=90.4)) == (
        "waits for 2 slots; others had passed it for 90 s (gang_patience), so nothing new starts "
        "on a until it does"
    )


@pytest.mark.parametrize(
    ("preemption", "is_preemptible", "rest"),
    [
        (False, True, "; the pool starts nothing less urgent while they wait (preemption is off)"),
        (True, False, "; it could not be preempted for them, so it does not start before them"),
        (True, True, ""),
    ],
)
def test_a_request_behind_others_says_why_it_may_not_pass_them(
    preemption: bool, is_preemptible: bool, rest: str
) -> None:
    said = sentence(
        Behind("x", "y"), rules=Rules(preemption=preemption), is_preemptible=is_preemptible
    )
    assert said == ("waits for 2 slots behind more urgent requests, of which y is next" + rest)


def test_a_sentence_without_ids_names_no_other_request() -> None:
    request = pending("x", 2)
    view = PoolView(pool="p", agents=(FULL,), pending=(request,), rules=Rules(preemption=True))
    said = reason_without_ids(view, request, Behind("x", "y"))
    assert said == "waits for 2 slots behind more urgent requests"
    assert reason_without_ids(view, request, Full("x")) == reason(view, request, Full("x"))


def test_a_request_over_its_jobs_limit_names_the_limit() -> None:
    assert sentence(OverLimit("x"), max_slots=1) == (
        "its job may use 1 slot at a time (resources.max_slots) and uses them: raise that, or "
        "wait for its other tasks"
    )


def test_a_request_beyond_its_jobs_share_names_the_weight() -> None:
    assert sentence(OverShare("x")) == (
        "its job has its fair share of the pool: raise its weight, or wait for others"
    )


@pytest.mark.parametrize(("slots", "what"), [(4, "4 slots"), (1, "1 slot"), (0, "a place")])
def test_a_request_that_machines_on_demand_will_hold_waits_for_them(slots: int, what: str) -> None:
    assert sentence(Impossible("x"), slots, MACHINES, agents=()) == (
        f"waits for {what} on machines that pool 'p' starts on demand"
    )


def test_a_request_that_no_machine_will_hold_is_impossible() -> None:
    alone = sentence(Impossible("x"), 8, MACHINES, is_single_node=True)
    assert alone.startswith("needs 8 slots on one agent, and the largest of pool 'p' has 4")
    assert sentence(Impossible("x"), 9).startswith("needs 9 slots, and pool 'p' has 4")


@pytest.mark.parametrize(
    ("slots", "agents", "fields", "text"),
    [
        (
            0,
            (agent("a", 4, zero_slot_tasks=1, max_zero_slot_tasks=1),),
            {},
            "waits for a place: every agent runs as many tasks without slots as the pool allows "
            "(max_aux_containers_per_agent)",
        ),
        (2, (agent("a", 4, free=1),), {}, "waits for 2 slots, of which 1 is free now"),
        (
            2,
            (agent("a", 4, free=1), agent("b", 4, free=1)),
            {},
            "waits for 2 slots, of which 2 are free now, but at most 1 on one agent",
        ),
        (
            2,
            (agent("a", 4, free=2),),
            {},
            "waits for 2 slots, of which 2 are free now, but kept for requests ahead of it",
        ),
        (
            6,
            (agent("a", 4, free=3), agent("b", 4, free=3)),
            {},
            "waits for 6 slots, of which 6 are free now, but not on agents that are wholly free "
            "and equally large",
        ),
        (
            6,
            (agent("a", 8, free=3), agent("b", 4, free=3)),
            {"is_single_node": True},
            "waits for 6 slots, of which 6 are free now, but at most 3 on one agent",
        ),
        (
            2,
            (agent("a", 4, free=4), agent("b", 4, free=1)),
            {"excluded_agents": frozenset({"a"})},
            "waits for 2 slots, of which 1 is free now",
        ),
    ],
)
def test_a_request_in_a_full_pool_says_what_is_free_and_why_that_is_not_enough(
    slots: int, agents: Any, fields: dict[str, Any], text: str
) -> None:
    assert sentence(Full("x"), slots, agents=agents, **fields) == text


NODE = agent("node", 4, free=1, zero_slot_tasks=1, max_zero_slot_tasks=1)
SHUT = agent("shut", 4, free=4, is_accepting=False)
RESTING = agent("resting", 4, free=4, is_accepting=False, is_resting=True)
NO_SLOTS = agent("bare", 0)
PODS = Rules(type="kubernetes", max_slots_per_pod=4)
WAITS: tuple[Wait, ...] = (
    *(Impossible("x"), Full("x"), Leaving("x", ("node",)), Draining("x", ("node",))),
    *(Behind("x", "y"), OverLimit("x"), OverShare("x"), HandedOver("x")),
    *(
        OverQuota("x", "1 of 2 pods"),
        LacksResources("x", "4Gi of memory"),
        NoDomain("x", "no rack"),
    ),
)


@pytest.mark.parametrize("agents", [(), (NODE,), (NODE, SHUT), (SHUT,), (RESTING,), (NO_SLOTS,)])
@pytest.mark.parametrize("slots", [0, 1, 3, 4, 6, 8, 64])
@pytest.mark.parametrize("is_single_node", [True, False])
@pytest.mark.parametrize(
    "rules", [PODS, replace(PODS, type="priority"), replace(PODS, queue="(kueue)")]
)
def test_no_sentence_on_kubernetes_speaks_of_agents(
    agents: Any, slots: int, is_single_node: bool, rules: Rules
) -> None:
    for wait in WAITS:
        for excluded in (frozenset[str](), frozenset({"node"})):
            said = sentence(
                wait, slots, rules, agents, is_single_node=is_single_node, excluded_agents=excluded
            )
            assert "agent" not in said.replace("max_aux_containers_per_agent", ""), wait
