"""Paginated lists of the master, and the options that select pages."""

from __future__ import annotations

from typing import Any, Dict, List, Mapping, Tuple, Union

from determined.cli.arguments import at_least
from determined.cli.declare import Arg, arg
from determined.common.api import BaseSession


def arguments(limit: int) -> Tuple[Arg, Arg, Arg]:
    """The options `--limit`, `--offset` and `--pages`."""
    return (
        arg("--limit", type=int, default=limit, help="Maximum items per page of results"),
        arg(
            "--offset",
            type=at_least(0),
            help="Number of items to skip before starting page of results",
        ),
        arg(
            "--pages",
            choices=("1", "all"),
            default="all",
            help="when set to 'all', fetch all available data; when '1', fetch a single page",
        ),
    )


def fetch(
    session: BaseSession,
    path: str,
    key: str,
    params: Mapping[str, Any],
    pages: Union[str, int] = "all",
) -> List[Dict[str, Any]]:
    """The items under `key`, starting at `params["offset"]`: one page, or all pages."""
    items: List[Dict[str, Any]] = []
    offset = params.get("offset") or 0
    while True:
        body = session.get(path, params={**params, "offset": offset}).json()
        items += body[key]
        bounds = body["pagination"]
        end = bounds.get("endIndex") or 0
        if str(pages) == "1" or not body[key] or end >= (bounds.get("total") or 0):
            return items
        offset = end
