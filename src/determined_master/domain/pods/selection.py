"""Node selectors, required node affinity, taints and tolerations, as Kubernetes reads them.

Source: https://kubernetes.io/docs/concepts/scheduling-eviction/ (assign-pod-node,
taint-and-toleration), and the meaning of each operator in Kubernetes' API reference.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Literal

Json = Mapping[str, Any]

UNSCHEDULABLE = "node.kubernetes.io/unschedulable"
"""The taint of a cordoned node; a pod that tolerates it may still be placed there."""
ADDED_TOLERATIONS: tuple[Json, ...] = tuple(
    {"key": f"node.kubernetes.io/{state}", "operator": "Exists", "effect": "NoExecute"}
    for state in ("not-ready", "unreachable")
)
"""Kubernetes adds these to every pod, for five minutes."""
_HARD = ("NoSchedule", "NoExecute")
_TEXTS: Mapping[str, str] = {
    "In": "{key} in ({values})",
    "NotIn": "{key} not in ({values})",
    "Gt": "{key} > {values}",
    "Lt": "{key} < {values}",
    "Exists": "{key} exists",
    "DoesNotExist": "no {key}",
}
"""Expressions in messages, by operator."""
_TEXTS_OF_ONE: Mapping[str, str] = {**_TEXTS, "In": "{key}={values}", "NotIn": "{key}!={values}"}
"""The same with one value."""


def untolerated(taints: Sequence[Json], tolerations: Sequence[Json]) -> Json | None:
    """The first taint that keeps a pod off a node; None without one."""
    held = (*tolerations, *ADDED_TOLERATIONS)
    hard = (taint for taint in taints if taint.get("effect") in _HARD)
    return next((t for t in hard if not any(tolerates(own, t) for own in held)), None)


def tolerates(toleration: Json, taint: Json) -> bool:
    """Whether a toleration covers a taint; one without key or effect covers all of them."""
    for part in ("effect", "key"):
        if toleration.get(part) and toleration[part] != taint.get(part):
            return False
    operator = toleration.get("operator") or "Equal"
    if operator == "Equal":
        return (toleration.get("value") or "") == (taint.get("value") or "")
    return bool(operator == "Exists")


def missing_label(selector: Mapping[str, str], labels: Mapping[str, str]) -> str:
    """The first `KEY=VALUE` of a node selector that a node lacks; empty without one."""
    lacks = (f"{key}={value}" for key, value in selector.items() if labels.get(key) != value)
    return next(lacks, "")


def matches(terms: Sequence[Json], labels: Mapping[str, str], name: str) -> bool:
    """Whether a node meets one of the terms of a required affinity.

    Args:
        terms: alternatives; all expressions of one must hold. An empty term matches nothing.
        labels: of the node.
        name: of the node, the only field that Kubernetes compares.
    """
    return any(_meets_term(term, labels, name) for term in terms)


def meets(expression: Json, labels: Mapping[str, str]) -> bool:
    """Whether labels meet one expression; unknown operators are never met."""
    key, values = str(expression.get("key")), [str(v) for v in expression.get("values") or ()]
    found = labels.get(key)
    match expression.get("operator"):
        case "In":
            return found in values
        case "NotIn":
            return found not in values
        case "Exists":
            return key in labels
        case "DoesNotExist":
            return key not in labels
        case "Gt" | "Lt" as operator:
            return len(values) == 1 and _compare(_whole(found), operator, _whole(values[0]))
        case _:
            return False


def terms_text(terms: Sequence[Json]) -> str:
    """The terms in messages: `zone in (a, b) and gen > 5, or disk exists`."""
    return ", or ".join(" and ".join(map(_expression_text, _all_of(t))) or "none" for t in terms)


def _meets_term(term: Json, labels: Mapping[str, str], name: str) -> bool:
    fields = {"metadata.name": name}
    by_label, by_field = term.get("matchExpressions") or (), term.get("matchFields") or ()
    if not by_label and not by_field:
        return False
    return all(meets(e, labels) for e in by_label) and all(meets(e, fields) for e in by_field)


def _all_of(term: Json) -> list[Json]:
    return [*(term.get("matchExpressions") or ()), *(term.get("matchFields") or ())]


def _expression_text(expression: Json) -> str:
    values = [str(v) for v in expression.get("values") or ()]
    shown = ", ".join(values[:5]) + (", …" if len(values) > 5 else "")
    operator = str(expression.get("operator"))
    texts = _TEXTS_OF_ONE if len(values) == 1 else _TEXTS
    text = texts.get(operator, "{key} {operator}")
    return text.format(key=expression.get("key"), values=shown, operator=operator)


def _compare(left: int | None, operator: Literal["Gt", "Lt"], right: int | None) -> bool:
    if left is None or right is None:
        return False
    return left > right if operator == "Gt" else left < right


def _whole(text: str | None) -> int | None:
    """A whole number of 64 bits, as Kubernetes parses it for Gt and Lt."""
    digits = (text or "").removeprefix("-").removeprefix("+")
    if not (digits.isascii() and digits.isdigit() and len(digits) <= 19):
        return None
    number = int(text or "")
    return number if -(2**63) <= number < 2**63 else None
