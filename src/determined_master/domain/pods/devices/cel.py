"""Whether a device meets a selector, as Kubernetes' scheduler evaluates it.

Source: https://kubernetes.io/docs/reference/using-api/cel/, and the variable `device` of
`CELDeviceSelector` in Kubernetes' `resource.k8s.io/v1`.
"""

from __future__ import annotations

from collections.abc import Mapping
from decimal import Decimal
from typing import Any, assert_never

import msgspec

from determined_master.domain.pods.devices.cel_syntax import (
    CelCall,
    CelDevice,
    CelField,
    CelListed,
    CelNode,
    CelOperation,
    CelValue,
    NotUnderstood,
    parse,
)
from determined_master.domain.pods.quantities import quantity


class Undecided(Exception):
    """An evaluation fails, for example because the device has no such attribute.

    Kubernetes' scheduler then places no pod by this selector where the device is.
    """


class CelQuantity(msgspec.Struct, frozen=True):
    """A quantity, which is no number of CEL."""

    value: Decimal


class CelVersion(msgspec.Struct, frozen=True):
    """A semantic version, which is not compared here."""

    text: str


class Domains(dict[str, dict[str, Any]]):
    """Attributes or capacities of a device, by domain and name; other domains have none."""


Variable = Mapping[str, Any]
"""`driver`, `attributes` and `capacity`; the last two are `Domains`."""


class CelSelector(msgspec.Struct, frozen=True):
    """An expression and its tree."""

    text: str
    tree: CelNode

    def matches(self, device: Variable) -> bool:
        """Whether it takes a device. Raises Undecided."""
        found = _value(self.tree, device)
        if not isinstance(found, bool):
            raise Undecided(f"{self.text} is neither true nor false")
        return found


def selector(text: str) -> CelSelector:
    """A selector from its expression. Raises NotUnderstood."""
    return CelSelector(text, parse(text))


def _value(node: CelNode, device: Variable) -> Any:
    match node:
        case CelValue():
            return node.value
        case CelDevice():
            return device
        case CelListed():
            return _values(node.items, device)
        case CelField():
            return _field(_value(node.of, device), _value(node.name, device))
        case CelCall("has"):
            return _has(node.arguments[0], device)
        case CelCall():
            return _called(node.name, _values(node.arguments, device))
        case CelOperation():
            return _operated(node.sign, node.sides, device)
        case _:
            assert_never(node)


def _values(nodes: tuple[CelNode, ...], device: Variable) -> list[Any]:
    return [_value(node, device) for node in nodes]


def _operated(sign: str, sides: tuple[CelNode, ...], device: Variable) -> bool:
    match sign:
        case "&&":
            return _joined(sides, device, decides=False)
        case "||":
            return _joined(sides, device, decides=True)
        case "!":
            return not _bool(_value(sides[0], device))
        case _:
            left, right = _values(sides, device)
            return _compared(sign, left, right)


def _joined(sides: tuple[CelNode, ...], device: Variable, *, decides: bool) -> bool:
    """`&&` and `||`: a side that decides alone counts also where another side fails."""
    failure: Undecided | None = None
    for side in sides:
        try:
            if _bool(_value(side, device)) is decides:
                return decides
        except Undecided as error:
            failure = failure or error
    if failure is not None:
        raise failure
    return not decides


def _field(of: Any, name: Any) -> Any:
    if not isinstance(of, Mapping) or not isinstance(name, str):
        raise Undecided(f"{name!r} is no field")
    if name not in of:
        if isinstance(of, Domains):
            return {}
        raise Undecided(f"the device has no {name!r}")
    return of[name]


def _has(node: CelNode, device: Variable) -> bool:
    assert isinstance(node, CelField)
    of = _value(node.of, device)
    if not isinstance(of, Mapping):
        raise Undecided("has() asks for a field of something without fields")
    return _value(node.name, device) in of


def _called(name: str, arguments: list[Any]) -> Any:
    of, *rest = arguments
    if name == "quantity":
        return CelQuantity(quantity(_text(of)))
    if name in ("compareTo", "isGreaterThan", "isLessThan"):
        one, other = _amount(of), _amount(rest[0])
        order = (one > other) - (one < other)
        return {"compareTo": order, "isGreaterThan": order > 0, "isLessThan": order < 0}[name]
    text = _text(of)
    match name:
        case "lowerAscii":
            return "".join(c.lower() if c.isascii() else c for c in text)
        case "startsWith":
            return text.startswith(_text(rest[0]))
        case "endsWith":
            return text.endswith(_text(rest[0]))
        case _:
            return _text(rest[0]) in text


def _compared(sign: str, left: Any, right: Any) -> bool:
    if isinstance(left, CelVersion) or isinstance(right, CelVersion):
        raise Undecided("versions are not compared by the master")
    if sign == "in":
        if not isinstance(right, (list, Mapping)):
            raise Undecided("'in' needs a list or a map")
        return any(_equal(left, item) for item in right)
    if sign in ("==", "!="):
        return _equal(left, right) is (sign == "==")
    if type(left) is not type(right) or not isinstance(left, (int, str)):
        raise Undecided(f"{left!r} and {right!r} have no order")
    order = int(left > right) - int(left < right)
    return {"<": order < 0, "<=": order <= 0, ">": order > 0, ">=": order >= 0}[sign]


def _equal(one: Any, other: Any) -> bool:
    """Values of different types differ, also `true` and `1`."""
    return type(one) is type(other) and bool(one == other)


def _bool(value: Any) -> bool:
    if not isinstance(value, bool):
        raise Undecided(f"{value!r} is neither true nor false")
    return value


def _text(value: Any) -> str:
    if not isinstance(value, str):
        raise Undecided(f"{value!r} is no text")
    return value


def _amount(value: Any) -> Decimal:
    if not isinstance(value, CelQuantity):
        raise Undecided(f"{value!r} is no quantity")
    return value.value


__all__ = [
    "CelQuantity",
    "Domains",
    "NotUnderstood",
    "CelSelector",
    "Undecided",
    "Variable",
    "CelVersion",
    "selector",
]
