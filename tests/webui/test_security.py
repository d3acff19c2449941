"""Markup of users stays text, framed pages stay in their frame, tokens stay out of addresses.

The cluster is one of its own: its message and its names would be in the way of other tests.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any
from urllib.parse import quote, urlsplit

import pytest
from playwright.sync_api import Page, expect
from tests.e2e.cluster import PASSWORD, Cluster, until
from tests.e2e.conftest import running
from tests.free_ports import free_port
from tests.webui import addresses
from tests.webui.chromium import reason_to_skip
from tests.webui.hostile import MARK, plant, plant_among_people
from tests.webui.moving import move, settle, track

pytestmark = [pytest.mark.e2e, pytest.mark.slow]

HARM = """() => {
  const found = [];
  if (window.canary !== undefined) found.push("a script of a user has run");
  if (document.querySelector("[data-canary]")) found.push("text of a user made an element");
  for (const link of document.querySelectorAll("a[href]"))
    if (!["http:", "https:"].includes(link.protocol)) found.push(`a link leads to ${link.href}`);
  return found;
}"""


SETTINGS = "webhooks: {allowed_networks: [127.0.0.0/8]}"


@pytest.fixture(scope="module")
def cluster() -> Iterator[Cluster]:
    missing = reason_to_skip()
    if missing:
        pytest.skip(missing)
    with running(slots=2, settings=SETTINGS) as made:
        for name in ("linus", "ada"):
            user = {"username": name, "active": True}
            made.post("/api/v1/users", {"user": user, "password": PASSWORD})
        yield made


@pytest.fixture(scope="module")
def planted(cluster: Cluster) -> addresses.Things:
    plant_among_people(cluster)
    return plant(cluster)


def test_the_policy_of_the_page_lets_only_its_own_scripts_run(
    cluster: Cluster, visit: Callable[..., Any]
) -> None:
    person = visit(cluster.address)
    first, second = (
        person.context.request.get(person.url("/dashboard")).headers["content-security-policy"]
        for _ in range(2)
    )
    assert first != second, "the nonce stays the same"
    rules = {rule.split()[0]: rule.split()[1:] for rule in first.split("; ")}
    for kind in ("script-src", "style-src"):
        assert rules[kind][0] == "'self'"
        assert re.fullmatch(r"'nonce-[\w+/=-]{16,}'", rules[kind][1])
        assert len(rules[kind]) == 2
    assert rules["default-src"] == rules["base-uri"] == rules["form-action"] == ["'self'"]
    assert rules["object-src"] == rules["frame-ancestors"] == ["'none'"]
    page: Page = person.page
    page.goto(person.url("/dashboard"))
    page.evaluate("""() => {
      const script = document.createElement("script");
      script.textContent = "window.canary = 1";
      const picture = document.createElement("img");
      picture.setAttribute("onerror", "window.canary = 1");
      picture.src = "data:,";
      document.body.append(script, picture);
      return new Promise((resolve) => picture.addEventListener("error", resolve));
    }""")
    assert page.evaluate("window.canary") is None
    person.faults = [fault for fault in person.faults if "Content Security Policy" not in fault]


def test_text_of_users_is_shown_as_text(
    cluster: Cluster, planted: addresses.Things, visit: Callable[..., Any]
) -> None:
    """Without the policy: it would keep a script mute that a page lets in."""
    person = visit(cluster.address, bypass_csp=True)
    track(person.context)
    page: Page = person.page
    page.goto(person.url("/dashboard"))
    settle(page)
    shown, found = set(), []
    for group in addresses.pages(planted).values():
        for pattern, listed in group.items():
            for address in listed:
                move(page, address)
                found += [f"{address}: {line}" for line in page.evaluate(HARM)]
                if MARK in page.locator("main").inner_text():
                    shown.add(pattern)
    assert not found, "\n".join(dict.fromkeys(found))
    assert shown >= SHOWN, f"these pages do not show the text: {sorted(SHOWN - shown)}"
    banner = page.get_by_role("status").filter(has_text=MARK)
    expect(banner).to_be_visible()


SHOWN = {
    "dashboard",
    "projects/:id/:tab",
    "compare",
    *(
        f"{base}/{tab}"
        for base in ("trials/:trialId", "experiments/:experimentId")
        for tab in ("overview", "checkpoints", "hyperparameters", "metrics", "code", "logs")
    ),
    "experiments/:experimentId/notes",
    "tasks",
    "command/:taskId/logs",
    "workspaces",
    "workspaces/:workspaceId/projects",
    "workspaces/:workspaceId/models",
    "models",
    "models/:modelName",
    "models/:modelName/compare",
    "models/:modelName/versions/:version/overview",
    "models/:modelName/versions/:version/files",
    "models/:modelName/versions/:version/metadata",
    "models/:modelName/versions/:version/notes",
    "admin/user-management",
    "admin/group-management",
    "admin/cluster-message",
    "webhooks",
    "templates",
}


def test_links_of_notes_with_a_script_are_no_links(
    cluster: Cluster, planted: addresses.Things, visit: Callable[..., Any]
) -> None:
    person = visit(cluster.address, bypass_csp=True)
    track(person.context)
    page: Page = person.page
    for address in (f"/projects/{planted.project}/notes", f"/experiments/{planted.run}/notes"):
        page.goto(person.url(address))
        settle(page)
        text = page.get_by_text("[plain link]").or_(page.get_by_text("plain link")).first
        expect(text).to_be_visible()
        text.click()
        assert page.evaluate(HARM) == []
        assert page.url == person.url(address)


REDIRECTS = (
    "//evil.example/",
    "///evil.example/",
    "/\\evil.example/",
    "\\\\evil.example",
    "https://evil.example/",
    "https:evil.example",
    "javascript:canary=1",
    "/det//evil.example/",
    "/det/\\evil.example/",
    "/\t/evil.example/",
    "/det/../..//evil.example/",
    "//det/login",
    " //evil.example",
)


def test_a_redirect_cannot_leave_the_site(cluster: Cluster, visit: Callable[..., Any]) -> None:
    person = visit(cluster.address)
    out = visit(cluster.address, None)
    asked: list[str] = []
    for each in (person, out):
        each.context.on("request", lambda request: asked.append(request.url))
    for target in REDIRECTS:
        person.page.goto(person.url(f"/login?redirect={quote(target, safe='')}"))
        expect(person.page.get_by_role("heading", level=1)).to_be_visible()
        person.page.wait_for_url(lambda url: "/login" not in url)
        assert person.page.url.startswith(f"{cluster.address}/det/"), target
        assert person.page.evaluate("window.canary") is None, target
    page: Page = out.page
    for target in REDIRECTS[:4]:
        out.context.clear_cookies()
        page.goto(out.url(f"/login?redirect={quote(target, safe='')}"))
        page.get_by_label("User name").fill("admin")
        page.get_by_label("Password").fill(PASSWORD)
        page.get_by_label("Password").press("Enter")
        page.wait_for_url(lambda url: "/login" not in url)
        assert page.url.startswith(f"{cluster.address}/det/"), target
    here = urlsplit(cluster.address).netloc
    assert {urlsplit(url).netloc for url in asked if not url.startswith("data:")} == {here}


def test_no_address_holds_a_token(
    cluster: Cluster, planted: addresses.Things, visit: Callable[..., Any]
) -> None:
    person = visit(cluster.address, None)
    track(person.context)
    page: Page = person.page
    seen: list[str] = []
    person.context.on("request", lambda request: seen.append(request.url))
    page.on("websocket", lambda socket: seen.append(socket.url))
    page.on("framenavigated", lambda frame: seen.append(frame.url))
    page.goto(person.url("/login?cli=true"))
    page.get_by_label("User name").fill("admin")
    page.get_by_label("Password").fill(PASSWORD)
    page.get_by_label("Password").press("Enter")
    tokens = [page.locator("code").inner_text()]
    page.goto(person.url("/dashboard"))
    settle(page)
    for group in ("shell", "lists", "experiment", "tasks", "cluster"):
        for listed in addresses.pages(planted)[group].values():
            move(page, listed[0])
    move(page, "/settings")
    page.get_by_role("button", name="New token").click()
    page.get_by_role("button", name="Create").click()
    tokens.append(page.locator("[data-secret]").inner_text())
    page.get_by_role("button", name="Done").click()
    tokens += [each["value"] for each in person.context.cookies()]
    assert all(len(token) > 20 for token in tokens)
    assert any("/api/ui/v1/live" in url for url in seen)
    kept = page.evaluate(
        "JSON.stringify([{...localStorage}, {...sessionStorage}, document.cookie])"
    )
    for token in tokens:
        assert not [url for url in seen if token in url or quote(token) in url]
        assert token not in kept


PAGE_OF_A_TASK = """
import http.server, os, sys
BODY = b'''<!doctype html><title>hostile</title><p>a page of a task</p><script>
const found = {};
const attempt = (name, act) => {
  try { found[name] = String(act()); } catch (error) { found[name] = "refused"; }
};
attempt("parent", () => parent.document.title);
attempt("cookie", () => document.cookie);
attempt("storage", () => localStorage.length);
const frame = {topic: "me", op: "reset"};
for (const data of ["x", frame, {type: "det:shortcuts"}, JSON.stringify(frame)])
  parent.postMessage(data, "*");
fetch("/api/v1/me").then((answer) => answer.status, () => "refused").then((status) => {
  found.api = String(status);
  parent.postMessage({found}, "*");
  try { top.location = "/det/login?hostile"; } catch (error) {}
});
</script>'''
class Page(http.server.BaseHTTPRequestHandler):
    def do_GET(self):
        self.send_response(200)
        self.send_header("content-type", "text/html")
        self.send_header("content-length", str(len(BODY)))
        self.end_headers()
        self.wfile.write(BODY)
server = http.server.ThreadingHTTPServer(("0.0.0.0", int(os.environ["PORT"])), Page)
print("serving", flush=True)
server.serve_forever()
"""


@contextmanager
def serving(cluster: Cluster, user: str) -> Iterator[str]:
    """A command of a user that serves the page."""
    port = free_port()
    config = {
        "entrypoint": ["python3", "-c", PAGE_OF_A_TASK],
        "resources": {"slots": 0},
        "environment": {
            "proxy_ports": [{"proxy_port": port, "default_service_id": True}],
            "environment_variables": [f"PORT={port}"],
        },
    }
    made = cluster.post("/api/v1/commands", {"config": config}, user)
    task_id = str(made["command"]["id"])
    until(lambda: "serving" in cluster.task_text(task_id), what="the page of the task")
    try:
        yield task_id
    finally:
        cluster.post(f"/api/v1/commands/{task_id}/kill")


LISTEN = """
  window.listeners = 0;
  const listen = window.addEventListener;
  window.addEventListener = function (kind, ...rest) {
    if (kind === "message" && this === window) window.listeners += 1;
    return listen.call(this, kind, ...rest);
  };
  listen.call(window, "message", ({ data }) => { if (data?.found) window.found = data.found; });
"""


@pytest.mark.parametrize("owner", ["ada", "admin"])
def test_a_page_of_a_task_stays_in_its_frame(
    owner: str, cluster: Cluster, visit: Callable[..., Any]
) -> None:
    with serving(cluster, owner) as task_id:
        person = visit(cluster.address)
        track(person.context)
        page: Page = person.page
        page.add_init_script(LISTEN)
        address = person.url(f"/wait/command/{task_id}")
        page.goto(address)
        frame = page.locator("iframe")
        expect(frame).to_be_visible()
        rights = (frame.get_attribute("sandbox") or "").split()
        assert "allow-scripts" in rights
        assert not [right for right in rights if right.startswith("allow-top-navigation")]
        # Playwright's own wait evaluates text in the page, which its policy forbids.
        found = until(lambda: page.evaluate("window.found"), what="the acts of the hostile page")
        if owner == "ada":  # another user: the page must not act with the rights of its viewer
            assert found == dict.fromkeys(("parent", "cookie", "storage", "api"), "refused")
        assert page.evaluate("window.listeners") == 0, "the web UI listens to messages of frames"
        assert page.evaluate("window.onmessage") is None
        expect(page.get_by_role("dialog")).to_have_count(0)
        assert page.url == address
        person.faults = [each for each in person.faults if not EXPECTED.search(each)]


EXPECTED = re.compile(r"Unsafe attempt to initiate navigation|blocked by CORS|Content Security")
"""What the browser writes when it refuses the acts of the hostile page."""
