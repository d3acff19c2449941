"""Logs of trials and tasks as messages of `bindings`."""

from __future__ import annotations

import sys
from typing import Any, Dict, Iterable, Iterator, List, Optional

from determined.common.api import bindings


def trial_logs(
    session: Any,
    trial_id: int,
    head: Optional[int] = None,
    tail: Optional[int] = None,
    follow: bool = False,
    agent_ids: Optional[List[str]] = None,
    container_ids: Optional[List[str]] = None,
    rank_ids: Optional[List[int]] = None,
    sources: Optional[List[str]] = None,
    stdtypes: Optional[List[str]] = None,
    min_level: Optional[Any] = None,
    timestamp_before: Optional[str] = None,
    timestamp_after: Optional[str] = None,
    search_text: Optional[str] = None,
) -> Iterable[Any]:
    """The lines of a trial, `v1TrialLogsResponse`, the oldest first.

    Args:
        head: the number of lines from the start.
        tail: the number of lines from the end.
        min_level: a `v1LogLevel`; lines of lower levels are left out.
    """
    filters = {
        "agentIds": agent_ids,
        "containerIds": container_ids,
        "rankIds": rank_ids,
        "sources": sources,
        "stdtypes": stdtypes,
        "levels": levels_at_or_above(min_level) if min_level else None,
        "timestampBefore": timestamp_before,
        "timestampAfter": timestamp_after,
        "searchText": search_text,
    }
    call = bindings.get_TrialLogs
    return _lines(call, session, {"trialId": trial_id, **filters}, head, tail, follow)


def task_logs(
    session: Any,
    task_id: str,
    head: Optional[int] = None,
    tail: Optional[int] = None,
    follow: bool = False,
    allocation_ids: Optional[List[str]] = None,
    agent_ids: Optional[List[str]] = None,
    container_ids: Optional[List[str]] = None,
    rank_ids: Optional[List[int]] = None,
    sources: Optional[List[str]] = None,
    stdtypes: Optional[List[str]] = None,
    min_level: Optional[Any] = None,
    timestamp_before: Optional[str] = None,
    timestamp_after: Optional[str] = None,
) -> Iterable[Any]:
    """The lines of a task, `v1TaskLogsResponse`; arguments as `trial_logs`."""
    filters = {
        "allocationIds": allocation_ids,
        "agentIds": agent_ids,
        "containerIds": container_ids,
        "rankIds": rank_ids,
        "sources": sources,
        "stdtypes": stdtypes,
        "levels": levels_at_or_above(min_level) if min_level else None,
        "timestampBefore": timestamp_before,
        "timestampAfter": timestamp_after,
    }
    return _lines(
        bindings.get_TaskLogs, session, {"taskId": task_id, **filters}, head, tail, follow
    )


def pprint_logs(logs: Iterable[Any]) -> None:
    """Print the text of each line."""
    for line in logs:
        sys.stdout.write(line.message)


def levels_at_or_above(min_level: Any) -> List[Any]:
    """The level and those above it."""
    levels = list(bindings.v1LogLevel)
    return levels[levels.index(min_level) :]


def _lines(
    call: Any,
    session: Any,
    filters: Dict[str, Any],
    head: Optional[int],
    tail: Optional[int],
    follow: bool,
) -> Iterator[Any]:
    last = -1
    if tail is not None:
        order = bindings.v1OrderBy.DESC
        for line in list(call(session, limit=tail, orderBy=order, **filters))[::-1]:
            last = int(line.id)
            yield line
        if not follow:
            return
    for line in call(
        session, limit=head, follow=follow, orderBy=bindings.v1OrderBy.ASC, **filters
    ):
        if int(line.id) > last:
            yield line
