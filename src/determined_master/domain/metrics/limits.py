"""Size limits of a metric report.

A value is anything but a list or object; those in lists and objects and those of batches count as
well. More values than this are no metric but a file: they would delay the reports of other trials.
"""

from __future__ import annotations

import sys
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any

from determined_master.domain.errors import InvalidArgument

MAX_VALUES = 100_000
MAX_NAMES = 10_000
"""Of the metrics of a trial, in all of its groups: each is a column of its project's tables."""
MAX_NAME_BYTES = 1000
"""Of a metric, and of a group: lists index both together."""
MAX_DEPTH = 50
MAX_TEXT = 64 * 1024
"""Characters of all texts in one report: pages and lists show its values."""

LARGEST = int(sys.float_info.max)
"""No chart, mean or comparison can use a whole number beyond a double's range."""

_CONTAINERS: frozenset[type] = frozenset({dict, list})
_TEXTS: frozenset[type] = frozenset({str})
_WHOLE: frozenset[type] = frozenset({int})


def find_problem(
    group: str,
    metrics: Mapping[str, Any],
    batch_metrics: Sequence[Mapping[str, Any]] | None = None,
) -> InvalidArgument | None:
    """Why a report exceeds a limit; None when it does not.

    Cost: O(names), and O(values) in lists and objects.
    """
    sets = (metrics, *(batch_metrics or ()))
    count = sum(map(len, sets))
    if len(metrics) > MAX_NAMES:
        return too_many_names(len(metrics))
    if (name := next(_long_names((group,), *sets), None)) is not None:
        return InvalidArgument(
            f"the name {name[:40]!r}… has {len(name.encode())} bytes: at most {MAX_NAME_BYTES}, "
            "choose a shorter one"
        )
    for name, value in _of(_WHOLE, sets):
        if not -LARGEST <= value <= LARGEST:
            return _too_large(name)
    return _find_large(sets, count)


def _find_large(sets: Sequence[Mapping[str, Any]], count: int) -> InvalidArgument | None:
    """Why lists, objects and texts exceed a limit; `count` is the number of names."""
    characters = sum(len(value) for _, value in _of(_TEXTS, sets))
    for name, value in _of(_CONTAINERS, sets):
        values = _count(value, 1)
        if values is None:
            return InvalidArgument(
                f"metric {name!r} is nested deeper than {MAX_DEPTH} levels: flatten it"
            )
        if _has_beyond(value):
            return _too_large(name)
        count += values - 1
        characters += _characters(value)
    if characters > MAX_TEXT:
        return InvalidArgument(
            f"{characters} characters of text in one report: at most {MAX_TEXT}, store long texts "
            "as a file of a checkpoint"
        )
    if count > MAX_VALUES:
        return InvalidArgument(
            f"{count} values in one report: at most {MAX_VALUES}, report fewer or aggregate them, "
            "or store them as a file of a checkpoint"
        )
    return None


def too_many_names(count: int) -> InvalidArgument:
    """Why a report is refused with which its trial would have so many names."""
    return InvalidArgument(
        f"{count} names of metrics in one trial: at most {MAX_NAMES}, report related values as "
        "one metric with a list or an object, or fewer of them"
    )


def _long_names(*sets: Iterable[str]) -> Iterator[str]:
    """Names that are too long. No character has more than four bytes."""
    for names in sets:
        if max(map(len, names), default=0) > MAX_NAME_BYTES // 4:  # rare, so check all at once
            yield from (name for name in names if len(name.encode()) > MAX_NAME_BYTES)


def _of(kinds: frozenset[type], sets: Iterable[Mapping[str, Any]]) -> Iterator[tuple[str, Any]]:
    """Metrics with values of these types."""
    for values in sets:
        if not kinds.isdisjoint(map(type, values.values())):
            yield from ((n, v) for n, v in values.items() if type(v) in kinds)


def _count(value: Any, depth: int) -> int | None:
    """Number of values in a list or an object, at least one; None when nested too deep."""
    if depth > MAX_DEPTH:
        return None
    total = 0
    for item in value.values() if type(value) is dict else value:
        kind = type(item)
        if kind is dict or kind is list:
            inner = _count(item, depth + 1)
            if inner is None:
                return None
            total += inner
        else:
            total += 1
    return max(total, 1)


def _characters(value: Any) -> int:
    """Characters of the texts in a list or an object, and of keys longer than a name may be."""
    size = 0
    if type(value) is dict:
        size = sum(len(key) for key in value if len(key) > MAX_NAME_BYTES)
        value = value.values()
    for item in value:
        if type(item) is str:
            size += len(item)
        elif type(item) in _CONTAINERS:
            size += _characters(item)
    return size


def _has_beyond(value: Any) -> bool:
    """Whether a list or an object has an integer beyond the range of doubles."""
    items = value.values() if type(value) is dict else value
    return any(
        _has_beyond(item)
        if type(item) in _CONTAINERS
        else type(item) is int and not -LARGEST <= item <= LARGEST
        for item in items
    )


def _too_large(name: str) -> InvalidArgument:
    return InvalidArgument(
        f"metric {name!r} has a number beyond 1.8e308, the largest that is kept: report it "
        'scaled, or as "Infinity"'
    )
