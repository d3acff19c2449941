"""Costs of machines, and how many a budget allows."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.domain.builders import T0

from determined_master.domain.machines.cost import (
    affordable,
    allowed,
    cost_per_hour,
    highest_price,
    machines_within,
    slot_price,
)
from determined_master.domain.machines.offers import Offer
from determined_master.domain.machines.scaling import Machine

AMOUNTS = st.floats(0, 10_000)


def machine(price: float | None, state: Any = "running") -> Machine:
    return Machine(id="i", agent_name="i", state=state, launched_at=T0, price_per_hour=price)


def offer(price: float | None) -> Offer:
    return Offer(machine_type="t", price_per_hour=price)


def test_machines_cost_until_they_have_ended() -> None:
    machines = [machine(0.1), machine(0.2, "starting"), machine(0.4, "terminating")]
    assert cost_per_hour([*machines, machine(9.0, "stopped")]) == 0.7


@pytest.mark.parametrize(
    ("prices", "cost"), [((), 0.0), ((None,), None), ((None, 2.0), 2.0), ((0.1,) * 3, 0.3)]
)
def test_unknown_prices_count_as_nothing(prices: tuple[float | None, ...], cost: float) -> None:
    assert cost_per_hour([machine(price) for price in prices]) == cost


def test_the_price_of_a_slot_is_the_mean_of_machines_with_a_price() -> None:
    machines = [machine(1.0), machine(3.0), machine(None), machine(9.0, "stopped")]
    assert slot_price(machines, 4) == 0.5
    assert slot_price([machine(None)], 4) is None
    assert slot_price(machines, 0) is None


def test_offers_above_the_bound_or_of_unknown_price_are_not_allowed() -> None:
    offers = [offer(1.0), offer(2.0), offer(None)]
    assert allowed(offers, None) == offers
    assert allowed(offers, 1.5) == [offer(1.0)]


def test_the_highest_price_is_unknown_if_one_is() -> None:
    assert highest_price([offer(1.0), offer(2.0)]) == 2.0
    assert highest_price([offer(1.0), offer(None)]) is None
    assert highest_price([]) is None


def test_sums_of_prices_are_compared_with_a_tolerance() -> None:
    assert machines_within(0.3, 0.1) == 3
    assert affordable(5, 0.2, 0.1, 0.3) == 1


@given(st.integers(0, 1000), AMOUNTS, AMOUNTS, AMOUNTS)
def test_affordable_machines_never_exceed_the_budget(
    count: int, cost: float, price: float, budget: float
) -> None:
    found = affordable(count, cost, price, budget)
    assert 0 <= found <= count
    if found and price:
        assert cost + found * price <= budget + 1e-6 * max(1.0, price)
    if found < count and price > 0.01:
        assert cost + (found + 1) * price > budget - 1e-6
