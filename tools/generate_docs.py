"""Generates the reference pages that are made from code.

python tools/generate_docs.py            writes the pages
python tools/generate_docs.py --check    exits 1 and names what is stale
"""

from __future__ import annotations

import json
import sys
from pathlib import Path

ROOT = Path(__file__).parent.parent
sys.path[:0] = [str(ROOT), str(ROOT / "src")]

from tools.bounds_page import bounds_page  # noqa: E402
from tools.config_page import config_page  # noqa: E402
from tools.permissions_page import permissions_page  # noqa: E402
from tools.security_page import security_page  # noqa: E402
from tools.settings_page import settings_page  # noqa: E402
from tools.state_constants import state_constants  # noqa: E402
from tools.states_page import states_page  # noqa: E402
from tools.webui_rules import webui_rules  # noqa: E402

from determined_master.api.http.access import Need  # noqa: E402
from determined_master.api.http.openapi import document  # noqa: E402
from determined_master.api.http.routes import Route  # noqa: E402
from determined_master.api.table import OURS, all_routes  # noqa: E402
from determined_wire.rest.endpoints import ENDPOINTS  # noqa: E402

STATUS = Path("docs/api-status.md")
SETTINGS = Path("docs/reference/settings.md")
CONFIG = Path("docs/reference/experiment-config.md")
STATES = Path("docs/architecture/states.md")
OPENAPI = Path("webui/openapi.json")
RULES = Path("webui/src/data/rules.ts")
CONSTANTS = Path("src/determined/common/api/states.py")
BOUNDS = Path("docs/reference/bounds.md")
SECURITY = Path("docs/security.md")
PERMISSIONS = Path("docs/reference/permissions.md")


def api_status() -> str:
    """The page that tells which routes this master serves."""
    routes = {(r.method, r.path): r for r in all_routes()}
    public = {(e.method, e.path): e for e in ENDPOINTS}
    served = [key for key in public if key in routes]
    lines = [
        "# Which routes are served",
        "",
        "Made by `tools/generate_docs.py` from the route table; do not edit.",
        "",
        f"{len(served)} of {len(public)} routes of the public API are served; the others answer",
        "501 with code 12.",
        "",
        "*Access* is the rule that the route declares. `open`: no token is needed, for the reason",
        "that follows. All others need the token of a user. `signed in`: every user may call it.",
        "`filtered`: the list leaves out what the caller may not see. `in service`: the use case",
        "checks a permission. Else a field of the request names a thing: with roles, the caller",
        "must see it and have the permission for the action. `task`: the token of a task may call",
        "it, if the named fields are the task's own things. `in task`: code in a task may call it",
        "with its user's token ([reasons](security.md#what-each-token-can-do)).",
        "",
        "## The public API",
        "",
        "| method | path | status | access |",
        "|---|---|---|---|",
    ]
    for method, path in sorted(public, key=lambda key: (key[1], key[0])):
        status = "served" if (method, path) in routes else "501"
        lines.append(
            f"| {method} | `{path}` | {status} | {access_of(routes.get((method, path)))} |"
        )
    lines += ["", "## Our own", "", "| method | path | what | access |", "|---|---|---|---|"]
    for (method, path), route in sorted(routes.items(), key=lambda item: item[0][1]):
        if (method, path) in OURS:
            lines.append(_row(route))
    lines += [
        "",
        "## Outside `/api/v1`",
        "",
        "| method | path | what | access |",
        "|---|---|---|---|",
    ]
    for (_, path), route in sorted(routes.items(), key=lambda item: item[0][1]):
        if not path.startswith("/api/v1/"):
            lines.append(_row(route))
    return "\n".join(lines) + "\n"


def openapi() -> str:
    """The OpenAPI document from which the web UI's types are generated."""
    text = json.loads(document(all_routes(), "0"))
    return json.dumps(text, indent=1, sort_keys=True) + "\n"


def stale() -> list[str]:
    """Pages that differ from what would be written."""
    return [
        str(path)
        for path, text in _pages().items()
        if not (ROOT / path).exists() or (ROOT / path).read_text() != text
    ]


def main() -> int:
    """Write the pages, or with `--check` compare them."""
    if "--check" in sys.argv[1:]:
        wrong = stale()
        print("\n".join(wrong) or "fresh")
        return 1 if wrong else 0
    for path, text in _pages().items():
        (ROOT / path).parent.mkdir(parents=True, exist_ok=True)
        (ROOT / path).write_text(text)
    return 0


def _pages() -> dict[Path, str]:
    return {
        STATUS: api_status(),
        SETTINGS: settings_page(),
        CONFIG: config_page(),
        STATES: states_page(),
        OPENAPI: openapi(),
        RULES: webui_rules(),
        CONSTANTS: state_constants(),
        PERMISSIONS: permissions_page(),
        SECURITY: security_page(),
        BOUNDS: bounds_page(),
    }


def _row(route: Route) -> str:
    what = (route.handler.__doc__ or "").split("\n")[0]
    return f"| {route.method} | `{route.path}` | {what} | {access_of(route)} |"


def access_of(route: Route | None) -> str:
    """The declaration of a route for people: whom it admits, and to what."""
    if route is None:
        return ""
    if route.is_public:
        return f"open: {route.public_reason}"
    if route.authenticates:
        return "authenticates its caller itself"
    rule = route.access
    parts = [rule.replace("_", " ")] if isinstance(rule, str) else [_need(need) for need in rule]
    if route.task is not None:
        fields = [_task_field(*pair) for pair in route.task]
        parts.append(f"task ({', '.join(fields)})" if fields else "task")
    if route.in_task:
        parts.append("in task")
    return "; ".join(parts)


def _need(need: Need) -> str:
    """Such as `edit experiment of checkpoint uuid`."""
    action = f"{need.action} {need.kind}" if need.kind else "see"
    remarks = [
        remark
        for remark, holds in (
            ("optional", need.is_optional),
            ("may be missing", need.may_be_missing),
            (f"{need.stands_for_all} is all", need.stands_for_all is not None),
        )
        if holds
    ]
    where = f"{need.thing} `{need.field}`"
    said = where if action == "see" else f"{action} by {where}"
    return f"{said} ({', '.join(remarks)})" if remarks else said


def _task_field(field: str, attribute: str) -> str:
    return f"`{field}`" if field == attribute else f"`{field}` as {attribute}"


if __name__ == "__main__":
    sys.exit(main())
