"""The part of the security page that is made from the declarations of routes."""

from __future__ import annotations

import textwrap
from collections.abc import Iterable, Iterator
from pathlib import Path

from determined_master.api.http.routes import Route
from determined_master.api.http.task_use import USES
from determined_master.api.table import all_routes

PAGE = Path(__file__).parent.parent / "docs" / "security.md"
BEGIN = "<!-- Made by tools/generate_docs.py from the declarations of routes; do not edit. -->"
END = "<!-- End of the generated part. -->"
WIDTH = 100


def security_page() -> str:
    """The whole page, with its generated part made again.

    Raises:
        ValueError: the page lacks the marks of that part.
    """
    before, mark, rest = PAGE.read_text().partition(BEGIN)
    _, end, after = rest.partition(END)
    if not (mark and end):
        raise ValueError(f"docs/security.md lacks the line {BEGIN!r} or {END!r}")
    return "\n".join([before + BEGIN, "", *_tokens(all_routes()), "", END]) + after


def _tokens(routes: Iterable[Route]) -> Iterator[str]:
    every = tuple(routes)
    public = [r for r in every if r.is_public]
    own = [r for r in every if r.authenticates]
    in_task = [r for r in every if r.in_task and not r.is_public]
    closed = [r for r in every if not (r.in_task or r.is_public or r.authenticates)]
    of_task = [r for r in every if r.task is not None]
    yield "| token | whose | opens |"
    yield "|---|---|---|"
    yield f"| none | everybody who reaches the port | the {len(public)} routes without a token |"
    yield (
        f"| of a login, access token | a user | the other {len(every) - len(public) - len(own)} "
        "routes, within the permissions of the user |"
    )
    yield (
        f"| `DET_USER_TOKEN` | code in a task | {len(in_task)} of these routes, as its user; the "
        f"other {len(closed)} are closed to it, also if its user is an admin |"
    )
    yield (
        f"| `DET_SESSION_TOKEN` | a task | {len(of_task)} of these routes, for things of its own "
        "task |"
    )
    yield f"| join token, or a token of a machine's start | agents | {_listed(own)} |"
    yield ""
    yield "**Routes without a token:**"
    yield ""
    yield "| route | reason |"
    yield "|---|---|"
    for route in sorted(public, key=lambda r: (r.path, r.method)):
        yield f"| {route.method} `{route.path}` | {route.public_reason} |"
    yield ""
    yield "**`DET_USER_TOKEN`** opens, by the first word of the path below `/api/v1`:"
    yield ""
    yield "| reason | routes |"
    yield "|---|---|"
    for use in USES:
        yield f"| {use} | {_grouped(r for r in in_task if r.in_task == use)} |"
    yield ""
    yield from textwrap.wrap(
        f"It does not open: {_grouped(closed)}.", WIDTH, break_long_words=False
    )
    yield ""
    yield from textwrap.wrap(
        f"**`DET_SESSION_TOKEN`** opens: {_grouped(of_task)}.", WIDTH, break_long_words=False
    )


def _listed(routes: Iterable[Route]) -> str:
    return ", ".join(f"{r.method} `{r.path}`" for r in sorted(routes, key=lambda r: r.path))


def _grouped(routes: Iterable[Route]) -> str:
    """Methods of routes by the first word of their paths."""
    methods: dict[str, set[str]] = {}
    for route in routes:
        methods.setdefault(_subject(route.path), set()).add(route.method)
    return ", ".join(f"`{s}` ({', '.join(sorted(m))})" for s, m in sorted(methods.items()))


def _subject(path: str) -> str:
    if path.startswith("/api/v1/"):
        return path.split("/")[3]
    return "/api/ui/v1" if path.startswith("/api/ui/v1/") else f"/{path.split('/')[1]}"
