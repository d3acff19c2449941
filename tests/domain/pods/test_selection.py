"""Selectors, affinity, taints and tolerations, as Kubernetes reads them."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from determined_master.domain.pods.selection import (
    matches,
    meets,
    missing_label,
    terms_text,
    tolerates,
    untolerated,
)

LABELS = st.dictionaries(st.sampled_from("abc"), st.sampled_from(["", "1", "5", "x"]))
VALUES = st.lists(st.sampled_from(["", "1", "3", "x"]), min_size=1, max_size=3)
EXPRESSIONS = st.fixed_dictionaries(
    {
        "key": st.sampled_from("abc"),
        "operator": st.sampled_from(["In", "NotIn", "Exists", "DoesNotExist", "Gt", "Lt"]),
        "values": VALUES,
    }
)
TERMS = st.lists(st.builds(lambda e: {"matchExpressions": e}, st.lists(EXPRESSIONS, max_size=3)))
TAINTS = st.fixed_dictionaries(
    {
        "key": st.sampled_from("kl"),
        "value": st.sampled_from(["", "v", "w"]),
        "effect": st.sampled_from(["NoSchedule", "NoExecute", "PreferNoSchedule"]),
    }
)
TOLERATIONS = st.fixed_dictionaries(
    {},
    optional={
        "key": st.sampled_from("kl"),
        "value": st.sampled_from(["", "v", "w"]),
        "operator": st.sampled_from(["Exists", "Equal"]),
        "effect": st.sampled_from(["NoSchedule", "NoExecute"]),
    },
)


def expression(operator: str, *values: str, key: str = "gen") -> dict[str, Any]:
    return {"key": key, "operator": operator, "values": list(values)}


@pytest.mark.parametrize(
    ("given_expression", "is_met"),
    [
        (expression("In", "6", "7"), True),
        (expression("In", "6"), False),
        (expression("NotIn", "6"), True),
        (expression("NotIn", "7"), False),
        (expression("NotIn", "7", key="none"), True),
        (expression("Exists"), True),
        (expression("Exists", key="none"), False),
        (expression("DoesNotExist", key="none"), True),
        (expression("Gt", "6"), True),
        (expression("Gt", "7"), False),
        (expression("Lt", "8"), True),
        (expression("Lt", "8", key="none"), False),
        (expression("Gt", "6", "6"), False),
        (expression("Gt", "six"), False),
        (expression("Gt", "6", key="kind"), False),
        (expression("Gt", "6.5"), False),
        (expression("Gt", "9" * 30), False),
        (expression("Like", "7"), False),
    ],
)
def test_each_operator_has_its_meaning(given_expression: dict[str, Any], is_met: bool) -> None:
    assert meets(given_expression, {"gen": "7", "kind": "x"}) is is_met


@given(LABELS, st.sampled_from("abc"), VALUES)
def test_opposite_operators_never_agree(
    labels: dict[str, str], key: str, values: list[str]
) -> None:
    def ask(operator: str) -> bool:
        return meets({"key": key, "operator": operator, "values": values}, labels)

    assert ask("In") is not ask("NotIn")
    assert ask("Exists") is not ask("DoesNotExist")
    assert not (ask("Gt") and ask("Lt"))
    assert ask("Exists") or not (ask("In") or ask("Gt") or ask("Lt"))


@pytest.mark.slow
@given(TERMS, LABELS, st.randoms(use_true_random=False))
def test_the_order_of_terms_and_expressions_is_irrelevant(
    terms: Any, labels: Any, at: Any
) -> None:
    moved = [{"matchExpressions": at.sample(e, len(e))} for t in terms for e in t.values()]
    at.shuffle(moved)
    assert matches(moved, labels, "n") is matches(terms, labels, "n")


@pytest.mark.slow
@given(TERMS, TERMS, EXPRESSIONS, LABELS)
def test_terms_are_alternatives_and_expressions_are_conditions(
    terms: Any, others: Any, more: Any, labels: Any
) -> None:
    assert matches([*terms, *others], labels, "n") is (
        matches(terms, labels, "n") or matches(others, labels, "n")
    )
    narrowed = [{"matchExpressions": [*t["matchExpressions"], more]} for t in terms]
    wide = any(not t["matchExpressions"] for t in terms) or matches(terms, labels, "n")
    assert matches(narrowed, labels, "n") is (wide and meets(more, labels))


def test_an_empty_term_matches_no_node() -> None:
    assert not matches([{}], {"a": "1"}, "n")
    assert matches([{}, {"matchExpressions": [expression("Exists", key="a")]}], {"a": "1"}, "n")


def test_fields_name_the_node() -> None:
    term = {"matchFields": [expression("In", "node-a", key="metadata.name")]}
    assert matches([term], {}, "node-a")
    assert not matches([term], {"metadata.name": "node-a"}, "node-b")


@pytest.mark.parametrize(
    ("toleration", "covers"),
    [
        ({}, False),
        ({"operator": "Exists"}, True),
        ({"key": "team", "operator": "Exists"}, True),
        ({"key": "other", "operator": "Exists"}, False),
        ({"key": "team", "value": "a"}, True),
        ({"key": "team", "operator": "Equal", "value": "a"}, True),
        ({"key": "team", "value": "b"}, False),
        ({"key": "team", "value": "a", "effect": "NoSchedule"}, True),
        ({"key": "team", "value": "a", "effect": "NoExecute"}, False),
        ({"operator": "Exists", "effect": "NoExecute"}, False),
        ({"key": "team", "operator": "Gt", "value": "a"}, False),
    ],
)
def test_a_toleration_covers_taints_of_its_key_value_and_effect(
    toleration: dict[str, str], covers: bool
) -> None:
    taint = {"key": "team", "value": "a", "effect": "NoSchedule"}
    assert tolerates(toleration, taint) is covers


@given(st.lists(TAINTS, max_size=4), st.lists(TOLERATIONS, max_size=4), TOLERATIONS, TAINTS)
def test_more_tolerations_open_nodes_and_more_taints_close_them(
    taints: Any, held: Any, toleration: Any, taint: Any
) -> None:
    if untolerated(taints, held) is None:
        assert untolerated(taints, [*held, toleration]) is None
    else:
        assert untolerated([*taints, taint], held) is not None
    assert untolerated(taints, [{"operator": "Exists"}]) is None


def test_a_preference_excludes_nothing_and_kubernetes_adds_tolerations_itself() -> None:
    assert untolerated([{"key": "k", "effect": "PreferNoSchedule"}], []) is None
    not_ready = {"key": "node.kubernetes.io/not-ready", "effect": "NoExecute"}
    assert untolerated([not_ready], []) is None
    assert untolerated([{**not_ready, "effect": "NoSchedule"}], []) is not None


def test_the_first_missing_label_is_named() -> None:
    assert missing_label({"a": "1", "b": "2"}, {"a": "1", "b": "3"}) == "b=2"
    assert missing_label({"a": "1"}, {"a": "1", "b": "3"}) == ""


def test_terms_are_printed_for_people() -> None:
    one = {"matchExpressions": [expression("In", "a", "b", key="zone"), expression("Gt", "5")]}
    assert terms_text([one]) == "zone in (a, b) and gen > 5"
    two = {"matchExpressions": [expression("NotIn", "x", key="disk"), expression("Exists")]}
    assert terms_text([two, {}]) == "disk!=x and gen exists, or none"
    three = {"matchFields": [expression("In", "n", key="metadata.name")]}
    assert terms_text([three]) == "metadata.name=n"
