"""Amounts as Kubernetes writes them."""

from __future__ import annotations

from decimal import Decimal

import pytest
from hypothesis import given
from hypothesis import strategies as st

from determined_master.domain.pods.placement import NodeFacts, pods_that_fit
from determined_master.domain.pods.quantities import amount_text, greater, quantity, total

AMOUNTS = st.dictionaries(
    st.sampled_from(["cpu", "memory", "nvidia.com/gpu"]),
    st.integers(0, 10**6).map(Decimal),
)


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("500m", "0.5"),
        ("2", "2"),
        (2, "2"),
        (1.5, "1.5"),
        ("3k", "3000"),
        ("1Ki", "1024"),
        ("1.5Gi", "1610612736"),
        ("2G", "2000000000"),
        ("1E", "1000000000000000000"),
        ("1Ei", "1152921504606846976"),
        ("1e3", "1000"),
        ("12E2", "1200"),
        ("5e-1", "0.5"),
        ("100n", "0.0000001"),
        ("-1", "-1"),
        (".5", "0.5"),
        ("9" * 40 + "Ei", str(2**63 - 1)),
        ("-9e99", str(1 - 2**63)),
        ("0.0000000001", "0.000000001"),
        ("1e-99", "0.000000001"),
        ("0", "0"),
        ("1000000000000000000", "1000000000000000000"),
    ],
)
def test_quantities_are_read_as_kubernetes_writes_them(text: object, value: str) -> None:
    assert quantity(text) == Decimal(value)


@pytest.mark.parametrize(
    "text",
    ["", "x", "1x", "1 Gi", "NaN", "Infinity", "1e999999999", "1gi", "1KI", None, {}, "9" * 99],
)
def test_other_texts_are_no_amount(text: object) -> None:
    assert quantity(text) == 0


@given(st.integers(0, 10**9), st.sampled_from(["", "m", "k", "M", "Ki", "Mi", "Gi"]))
def test_amounts_of_one_unit_are_ordered_as_their_numbers(number: int, suffix: str) -> None:
    assert quantity(f"{number}{suffix}") < quantity(f"{number + 1}{suffix}")
    assert quantity(f"{number}{suffix}") * 2 == quantity(f"{2 * number}{suffix}")


@pytest.mark.parametrize(
    ("resource", "amount", "text"),
    [
        ("memory", "32Gi", "32Gi of memory"),
        ("memory", "1536Mi", "1.5Gi of memory"),
        ("ephemeral-storage", "100", "100 of ephemeral-storage"),
        ("limits.memory", "1Ki", "1Ki of limits.memory"),
        ("cpu", "1500m", "1.5 cpu"),
        ("cpu", "100", "100 cpu"),
        ("nvidia.com/gpu", "2", "2 nvidia.com/gpu"),
    ],
)
def test_people_get_amounts_with_their_unit(resource: str, amount: str, text: str) -> None:
    assert amount_text(resource, quantity(amount)) == text


@given(AMOUNTS, AMOUNTS)
def test_a_sum_holds_no_less_than_the_greater_of_both(
    one: dict[str, Decimal], other: dict[str, Decimal]
) -> None:
    both, most = total([one, other]), greater(one, other)
    assert both.keys() == most.keys() == one.keys() | other.keys()
    assert all(both[r] >= most[r] for r in both)
    assert greater(other, one) == most


@given(
    st.from_regex(r"[0-9]{1,40}(\.[0-9]{1,40})?", fullmatch=True),
    st.sampled_from(["", "n", "E", "Ei", "e99", "e-99"]),
    st.sampled_from(["memory", "cpu"]),
)
def test_no_amount_breaks_the_arithmetic(number: str, suffix: str, resource: str) -> None:
    amount = quantity(number + suffix)
    assert 0 <= amount < 2**63
    assert amount_text(resource, amount)
    most = {resource: quantity("9e99")}
    found = pods_that_fit({resource: amount}, NodeFacts(name="n", allocatable=most))
    assert found is None or found >= 1
    assert total([most, {resource: amount}])[resource] >= amount
