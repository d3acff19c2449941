"""Paginated lists and streams of the API."""

from __future__ import annotations

import difflib
import json
from typing import Any, Dict, Iterable, Iterator, List, Mapping, Optional, Sequence, Set, Union

from determined.common.api import BaseSession
from determined.common.api.errors import BadResponseException
from determined.common.experimental.enums import CheckpointSortBy, OrderBy

Item = Dict[str, Any]
DOWNLOADABLE = ("STATE_COMPLETED", "STATE_PARTIALLY_DELETED")
CheckpointOrder = Optional[Union[str, CheckpointSortBy]]


class InvalidArguments(AssertionError, ValueError):
    """Arguments conflict, or nothing matches them.

    Derives from AssertionError, which 0.38.1 raised, and from ValueError.
    """


def iterate(
    session: BaseSession,
    path: str,
    key: str,
    params: Mapping[str, Any],
    limit: Optional[int] = None,
) -> Iterator[Item]:
    """The items of a list, fetched in pages of `limit` items (or of the master's default)."""
    offset = 0
    while True:
        body = session.get(path, params={**params, "offset": offset, "limit": limit}).json()
        yield from body[key]
        offset = body["pagination"]["endIndex"]
        if not body[key] or offset >= body["pagination"]["total"]:
            return


def stream(session: BaseSession, path: str, params: Mapping[str, Any]) -> Iterator[Item]:
    """The messages of a streaming route as they arrive.

    Raises:
        BadResponseException: the master ended the stream with an error.
    """
    response = session.get(path, params=params, stream=True)
    try:
        for line in response.iter_lines():
            if not line:
                continue
            body = json.loads(line)
            if "error" in body:
                raise BadResponseException(str(body["error"].get("message", body["error"])))
            yield body["result"]
    finally:
        response.close()


def checkpoints(
    session: BaseSession,
    path: str,
    sort_by: CheckpointOrder,
    order_by: Optional[OrderBy],
    max_results: Optional[int],
    states: Optional[Sequence[str]] = None,
) -> List[Item]:
    """Checkpoints sorted by an attribute or by a metric.

    By default they are sorted by the searcher's metric, the best first.

    Raises:
        InvalidArguments: `sort_by` is a metric and `order_by` is missing.
        ValueError: `sort_by` has another type, or is a metric that no checkpoint has.
    """
    if sort_by is not None and not isinstance(sort_by, (str, CheckpointSortBy)):
        raise ValueError(f"sort_by must be a CheckpointSortBy or a metric's name, not {sort_by!r}")
    if isinstance(sort_by, str) and order_by is None:
        raise InvalidArguments(f"sorting checkpoints by metric {sort_by!r} requires order_by")
    sort_by = sort_by or CheckpointSortBy.SEARCHER_METRIC
    params: Dict[str, Any] = {"limit": max_results, "states": states}
    if isinstance(sort_by, CheckpointSortBy):
        params["sortByAttr"] = sort_by.value
    else:
        params["sortByMetric"] = sort_by
    if order_by is not None:
        params["orderBy"] = order_by.value
    if max_results is not None:
        items = list(session.get(path, params=params).json()["checkpoints"])
    else:
        items = list(iterate(session, path, "checkpoints", params))
    if isinstance(sort_by, str):
        _require_metric(sort_by, items)
    return items


def _require_metric(name: str, items: Sequence[Item]) -> None:
    """Without the metric, the order would say nothing."""
    reported: Set[str] = set()
    for item in items:
        validation = (item.get("training") or {}).get("validationMetrics") or {}
        reported.update(validation.get("avgMetrics") or {})
    if items and name not in reported:
        raise ValueError(
            f"no checkpoint has a validation metric {name!r}: "
            f"{closest(name, reported)}, sort by CheckpointSortBy, or leave sort_by out"
        )


def closest(name: str, names: Iterable[str]) -> str:
    """The names that a wrong one may mean, all of them where none is close; for an error text."""
    listed = sorted(names)
    close = difflib.get_close_matches(name, listed, n=3) or listed[:10]
    if not close:
        return "none was reported"
    return f"use {' or '.join(map(repr, close))}"
