"""Checks that raise `CheckFailedError` with both values. Each has a second name, `check_...`."""

from __future__ import annotations

from typing import Any, NoReturn, Optional


class CheckFailedError(Exception):
    """A value is not as a check expects it."""


def eq(val: Any, expected: Any, reason: Optional[str] = None) -> None:
    if val != expected:
        _fail(f"{val!r} is not equal to {expected!r}", reason)


def not_eq(x: Any, y: Any, reason: Optional[str] = None) -> None:
    if x == y:
        _fail(f"{x!r} is equal to {y!r}", reason)


def gt(x: Any, y: Any, reason: Optional[str] = None) -> None:
    if not (x > y):
        _fail(f"{x!r} is not greater than {y!r}", reason)


def gt_eq(x: Any, y: Any, reason: Optional[str] = None) -> None:
    if not (x >= y):
        _fail(f"{x!r} is less than {y!r}", reason)


def lt(x: Any, y: Any, reason: Optional[str] = None) -> None:
    if not (x < y):
        _fail(f"{x!r} is not less than {y!r}", reason)


def lt_eq(x: Any, y: Any, reason: Optional[str] = None) -> None:
    if not (x <= y):
        _fail(f"{x!r} is greater than {y!r}", reason)


def is_in(val: Any, expected: Any, reason: Optional[str] = None) -> None:
    if val not in expected:
        _fail(f"{val!r} is not one of {expected!r}", reason)


def not_in(val: Any, expected: Any, reason: Optional[str] = None) -> None:
    if not (val not in expected):
        _fail(f"{val!r} is one of {expected!r}", reason)


def is_instance(val: Any, expected: Any, reason: Optional[str] = None) -> None:
    if not (isinstance(val, expected)):
        _fail(f"{val!r} is no instance of {expected}", reason)


def is_not_instance(val: Any, expected: Any, reason: Optional[str] = None) -> None:
    if isinstance(val, expected):
        _fail(f"{val!r} is an instance of {expected}", reason)


def is_subclass(val: Any, expected: Any, reason: Optional[str] = None) -> None:
    if not (issubclass(val, expected)):
        _fail(f"{val!r} is no subclass of {expected}", reason)


def is_type(val: Any, expected: Any, reason: Optional[str] = None) -> None:
    if type(val) is not expected:
        _fail(f"{val!r} is of {type(val)}, not of {expected}", reason)


def len_eq(val: Any, expected_len: Any, reason: Optional[str] = None) -> None:
    if len(val) != expected_len:
        _fail(f"{val!r} has {len(val)} items, not {expected_len}", reason)


def equal_lengths(x: Any, y: Any, reason: Optional[str] = None) -> None:
    if len(x) != len(y):
        _fail(f"{x!r} and {y!r} have {len(x)} and {len(y)} items", reason)


def true(val: Any, reason: Optional[str] = None) -> None:
    if not (val):
        _fail(f"{val!r} is not true", reason)


def false(val: Any, reason: Optional[str] = None) -> None:
    if val:
        _fail(f"{val!r} is not false", reason)


def is_none(val: Any, reason: Optional[str] = None) -> None:
    if val is not None:
        _fail(f"{val!r} is not None", reason)


def is_not_none(val: Any, reason: Optional[str] = None) -> None:
    if not (val is not None):
        _fail("the value is None", reason)


def _fail(problem: str, reason: Optional[str]) -> NoReturn:
    raise CheckFailedError(f"{problem}: {reason}" if reason else problem)


check_eq = eq
check_eq_len = equal_lengths
check_false = false
check_gt = gt
check_gt_eq = gt_eq
check_in = is_in
check_isinstance = is_instance
check_issubclass = is_subclass
check_len = len_eq
check_lt = lt
check_lt_eq = lt_eq
check_none = is_none
check_not_eq = not_eq
check_not_in = not_in
check_not_isinstance = is_not_instance
check_not_none = is_not_none
check_true = true
check_type = is_type
