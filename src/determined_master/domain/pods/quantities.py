"""Amounts as Kubernetes writes them: `500m`, `32Gi`, `1e3`.

Source: https://kubernetes.io/docs/reference/kubernetes-api/common-definitions/quantity/
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from decimal import ROUND_CEILING, Context, Decimal
from typing import Any

Amounts = Mapping[str, Decimal]
"""By resource: CPUs, bytes, or a number of devices or pods."""

_FORM = re.compile(r"([+-]?(?:[0-9]{1,40}(?:\.[0-9]{0,40})?|\.[0-9]{1,40}))([A-Za-z]*[+-]?[0-9]*)")
_EXPONENT = re.compile(r"[eE]([+-]?[0-9]{1,2})")
_DECIMAL = {"n": -9, "u": -6, "m": -3, "": 0, "k": 3, "M": 6, "G": 9, "T": 12, "P": 15, "E": 18}
_BINARY = {"Ki": 10, "Mi": 20, "Gi": 30, "Ti": 40, "Pi": 50, "Ei": 60}
_BYTES = ("memory", "storage", "hugepages-")
_ZERO = Decimal(0)
_MAX = Decimal(2**63 - 1)
_LEAST = Decimal("1e-9")
_EXACT = Context(prec=120)


def quantity(text: Any) -> Decimal:
    """A number as Kubernetes writes it; 0 for other texts, which its API refuses.

    As there, it is at most 2^63 - 1, and rounded up to a nano, so that no arithmetic on it fails.
    """
    found = _FORM.fullmatch(str(text).strip())
    if found is None:
        return _ZERO
    value = max(-_MAX, min(_MAX, _scaled(Decimal(found[1]), found[2])))
    return value.quantize(_LEAST, ROUND_CEILING, _EXACT).normalize(_EXACT)


def amount_text(resource: str, amount: Decimal) -> str:
    """An amount in messages: `32Gi of memory`, `1.5 cpu`, `2 nvidia.com/gpu`."""
    if any(part in resource for part in _BYTES):
        return f"{_binary(amount)} of {resource}"
    return f"{_plain(amount)} {resource}"


def total(parts: Iterable[Amounts]) -> dict[str, Decimal]:
    """The sum of amounts, by resource."""
    found: dict[str, Decimal] = {}
    for part in parts:
        for resource, amount in part.items():
            found[resource] = found.get(resource, _ZERO) + amount
    return found


def greater(one: Amounts, other: Amounts) -> dict[str, Decimal]:
    """The greater amount of each resource."""
    return {r: max(one.get(r, _ZERO), other.get(r, _ZERO)) for r in {**one, **other}}


def _scaled(number: Decimal, suffix: str) -> Decimal:
    if suffix in _DECIMAL:
        return number.scaleb(_DECIMAL[suffix], _EXACT)
    if suffix in _BINARY:
        return number * Decimal(2 ** _BINARY[suffix])
    exponent = _EXPONENT.fullmatch(suffix)
    return _ZERO if exponent is None else number.scaleb(int(exponent[1]), _EXACT)


def _binary(amount: Decimal) -> str:
    """Bytes with the largest suffix that leaves at least 1, to a tenth."""
    for suffix, power in reversed(_BINARY.items()):
        if amount >= 2**power:
            return f"{_plain(round(amount / 2**power, 1))}{suffix}"
    return _plain(amount)


def _plain(amount: Decimal) -> str:
    """Without an exponent, and without zeros at the end."""
    text = f"{round(amount, 3):f}"
    return text.rstrip("0").rstrip(".") if "." in text else text
