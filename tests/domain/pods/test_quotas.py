"""Quotas of a namespace, and the pods that they admit."""

from __future__ import annotations

from decimal import Decimal
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from determined_master.domain.pods.quantities import quantity, total
from determined_master.domain.pods.quotas import (
    QuotaFacts,
    exceeded,
    freed_by_placeholders,
    quota_of,
    quota_uses,
)

AMOUNTS = st.dictionaries(
    st.sampled_from(["pods", "requests.cpu", "limits.memory"]), st.integers(0, 6).map(Decimal)
)


def quota(hard: dict[str, str], used: dict[str, str] | None = None, **spec: Any) -> dict[str, Any]:
    return {
        "metadata": {"name": "q", "namespace": "lab"},
        "spec": {"hard": hard, **spec},
        "status": {"hard": hard, "used": used or {}},
    }


def said(hard: dict[str, str], used: dict[str, str], uses: dict[str, str], **more: str) -> str:
    facts = quota_of(quota(hard, used))
    assert facts is not None
    amounts = {k: quantity(v) for k, v in uses.items()}
    return exceeded([facts], amounts, {k: quantity(v) for k, v in more.items()})


def test_a_task_frees_the_use_of_its_placeholders_alone() -> None:
    """Only the pods that have no room have one, and none has Secrets."""
    uses = quota_uses({"cpu": Decimal(16)}, {}, pods=4, secrets=4)
    freed = freed_by_placeholders(uses, placeholders=1, pods=4)
    assert (freed["requests.cpu"], freed["cpu"], freed["pods"]) == (-4, -4, -1)
    assert not [name for name in freed if "secrets" in name]


@pytest.mark.parametrize(
    ("hard", "used", "uses", "text"),
    [
        ({"pods": "4"}, {"pods": "3"}, {"pods": "1"}, ""),
        (
            {"pods": "4"},
            {"pods": "4"},
            {"pods": "1"},
            "quota q of namespace lab has 4 of 4 pods in use, and the task needs 1 pods",
        ),
        (
            {"requests.nvidia.com/gpu": "8"},
            {"requests.nvidia.com/gpu": "6"},
            {"requests.nvidia.com/gpu": "4"},
            "quota q of namespace lab has 6 of 8 requests.nvidia.com/gpu in use, and the task "
            "needs 4 requests.nvidia.com/gpu",
        ),
        (
            {"limits.memory": "64Gi"},
            {},
            {"limits.memory": "96Gi"},
            "quota q of namespace lab allows 64Gi of limits.memory at all, and the task needs "
            "96Gi of limits.memory: ask for less, or let an admin raise the quota",
        ),
        ({"limits.memory": "64Gi"}, {"limits.memory": "64Gi"}, {"pods": "1"}, ""),
        ({"services": "0"}, {}, {"pods": "1"}, ""),
    ],
)
def test_a_quota_admits_pods_or_its_use_and_limit_are_named(
    hard: dict[str, str], used: dict[str, str], uses: dict[str, str], text: str
) -> None:
    assert said(hard, used, uses) == text


def test_pods_that_the_quota_does_not_count_yet_count() -> None:
    assert said({"pods": "4"}, {"pods": "2"}, {"pods": "1"}, pods="1") == ""
    assert "4 of 4 pods in use" in said({"pods": "4"}, {"pods": "2"}, {"pods": "1"}, pods="2")


def test_pods_use_all_names_of_their_resources_and_their_secrets() -> None:
    found = quota_uses(
        {"cpu": Decimal(4), "nvidia.com/gpu": Decimal(2), "pods": Decimal(2)},
        {"cpu": Decimal(6)},
        2,
        4,
    )
    assert found == {
        **{"pods": 2, "count/pods": 2, "secrets": 4, "count/secrets": 4},
        **{"requests.cpu": 4, "cpu": 4, "limits.cpu": 6, "requests.nvidia.com/gpu": 2},
    }


@pytest.mark.parametrize(
    ("spec", "is_known"),
    [
        ({}, True),
        ({"scopes": ["NotTerminating"]}, True),
        ({"scopes": ["Terminating"]}, False),
        ({"scopes": ["BestEffort"]}, False),
        ({"scopeSelector": {"matchExpressions": [{"scopeName": "PriorityClass"}]}}, False),
    ],
)
def test_quotas_of_other_scopes_hold_nobody_back(spec: dict[str, Any], is_known: bool) -> None:
    assert (quota_of(quota({"pods": "0"}, **spec)) is not None) is is_known


def test_a_quota_that_counts_nothing_yet_has_the_limits_of_its_spec() -> None:
    found = quota_of({"metadata": {"name": "q"}, "spec": {"hard": {"pods": "2"}}})
    assert found is not None
    assert (found.hard, found.used) == ({"pods": 2}, {})


@given(AMOUNTS, AMOUNTS, AMOUNTS, AMOUNTS)
def test_more_use_never_opens_a_quota(
    hard: dict[str, Decimal],
    used: dict[str, Decimal],
    uses: dict[str, Decimal],
    more: dict[str, Decimal],
) -> None:
    facts = QuotaFacts(namespace="n", name="q", hard=hard, used=used)
    fuller = QuotaFacts(namespace="n", name="q", hard=hard, used=total([used, more]))
    assert bool(exceeded([fuller], uses)) is bool(exceeded([facts], uses, more))
    if exceeded([facts], uses):
        assert exceeded([fuller], uses)
        assert exceeded([facts], total([uses, more]))
    assert exceeded([], uses, more) == ""
