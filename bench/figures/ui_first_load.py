"""What a browser fetches until the first list stands there, with an empty cache."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from bench.browser.chromium import in_browser
from bench.browser.project import browsed
from bench.browser.visit import Visit
from bench.cluster import Cluster
from bench.figure import Figure, Limit, Load, Measured

if TYPE_CHECKING:
    from playwright.sync_api import Request


def measure(cluster: Cluster, load: Load) -> Measured:
    """Bodies as gzip, of the page, its files and its data; and how many requests brought them."""
    project = browsed(cluster)
    path = f"/projects/{project.id}/runs"
    claim = f'__probe.firstRow().includes("{project.trial_ids[-1]}")'

    def visit(person: Visit) -> dict[str, Any]:
        context = person.profile(extra_http_headers={"accept-encoding": "gzip"})
        tab = person.tab(context)
        sent: list[Request] = []
        sockets: list[str] = []
        tab.page.on("request", lambda request: sent.append(request))
        tab.page.on("websocket", lambda socket: sockets.append(socket.url))
        shown_ms = tab.load(path, claim)
        count = len(sent)
        tab.page.wait_for_load_state("networkidle")
        bodies = {_name(each): each.sizes()["responseBodySize"] for each in sent[:count]}
        tab.close()
        return {"bodies": bodies, "requests": count + len(sockets), "shown_ms": shown_ms}

    found = in_browser(cluster, visit)
    bodies: dict[str, int] = found["bodies"]
    largest = sorted(bodies.items(), key=lambda each: -each[1])[:6]
    facts = {
        "api_requests": sum(" api/" in name for name in bodies),
        "shown_ms": round(found["shown_ms"]),
        "largest_kb": {name: round(size / 1000, 1) for name, size in largest},
    }
    return Measured([sum(bodies.values()) / 1000, found["requests"]], facts)


def _name(request: Request) -> str:
    return f"{request.method} {request.url.split('?')[0].split('/', 3)[3]}"


FIGURE = Figure(
    name="ui_first_load",
    limits=[
        Limit("gzip", "KB", 220.0, "at_most", judged="count"),
        Limit("requests", "", 12, "at_most", judged="count"),
    ],
    measure=measure,
    full=Load(runs=3),
    smoke=Load(runs=1),
)
