"""N1: in a real browser no page of a task acts at the master as whoever opens it.

Every combination of viewer, kind of port, and what the browser sends is tried, with an origin of
their own for pages of tasks (a second port, the default) and without one (the sandbox alone).
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any, NamedTuple

import pytest
from tests.e2e.cluster import PASSWORD, Cluster, until
from tests.e2e.conftest import running
from tests.free_ports import free_port
from tests.webui.chromium import LIMIT_MS, reason_to_skip

pytestmark = [pytest.mark.e2e, pytest.mark.slow]
OWNER, VIEWERS = "ada", ("ada", "linus", "admin")
PAGE_OF_A_TASK = """
import http.server, os, threading
MASTER, TOKEN = os.environ["DET_MASTER"], os.environ["PLANTED"]
BODY = (r'''<!doctype html><title>hostile</title><script>
const master = "MASTER";
const found = {origin: self.origin};
const attempt = async (name, act) => {
  try { found[name] = await act(); } catch (error) { found[name] = "refused"; }
};
const me = async (base) => {
  const answer = await fetch(base + "/api/v1/me", {credentials: "include"});
  return answer.ok ? (await answer.json()).user.username : String(answer.status);
};
const make = async (base, type, mode) => {
  const body = JSON.stringify({name: "made by a page " + Math.random()});
  const headers = {"content-type": type};
  const sent = {method: "POST", credentials: "include", mode, headers, body};
  return String((await fetch(base + "/api/v1/workspaces", sent)).status);
};
const plant = (path) => { document.cookie = "auth=TOKEN; path=" + path; return "planted"; };
(async () => {
  await attempt("here", () => me(""));
  await attempt("master", () => me(master));
  await attempt("makes", () => make(master, "application/json", "cors"));
  await attempt("makes_plainly", () => make(master, "text/plain", "no-cors"));
  await attempt("parent", () => String(parent.document !== document));
  await attempt("worker", async () => String(await navigator.serviceWorker.register("w.js")));
  await attempt("cookie", () => plant("/"));
  await attempt("deeper", () => plant("/api"));
  await attempt("as_master", () => me(master));
  window.found = found;
})();
</script>'''.replace("MASTER", MASTER).replace("TOKEN", TOKEN)).encode()
class Page(http.server.BaseHTTPRequestHandler):
    def do_GET(self):
        wants = "challenge" in self.path and not self.headers.get("Authorization")
        self.send_response(401 if wants else 200)
        kind = "text/javascript" if self.path.endswith("w.js") else "text/html"
        self.send_header("content-type", kind)
        self.send_header("content-length", str(len(BODY)))
        self.send_header("WWW-Authenticate", 'Basic realm="x"')
        self.send_header("Service-Worker-Allowed", "/")
        for cookie in ("x=1 auth=" + TOKEN, "auth=" + TOKEN, "[=1", "=auth=" + TOKEN):
            self.send_header("Set-Cookie", cookie + "; Path=/")
        self.end_headers()
        self.wfile.write(BODY)
for port in os.environ["PORTS"].split():
    server = http.server.ThreadingHTTPServer(("0.0.0.0", int(port)), Page)
    threading.Thread(target=server.serve_forever).start()
print("serving", flush=True)
"""


class Site(NamedTuple):
    cluster: Cluster
    closed: str
    """Path of the service that needs a login."""
    open: str
    has_own_origin: bool


@contextmanager
def serving(has_own_origin: bool) -> Iterator[Site]:
    """A cluster, and a command of a user that serves a hostile page at two ports."""

    def prepare(made: Cluster) -> None:
        made.services_port = made.services_port if has_own_origin else 0

    with running(slots=2, prepare=prepare) as cluster:
        for name in ("ada", "linus"):
            user = {"username": name, "active": True}
            cluster.post("/api/v1/users", {"user": user, "password": PASSWORD})
        token = cluster.session(OWNER).token
        ports = [free_port(), free_port()]
        config = {
            "entrypoint": ["python3", "-c", PAGE_OF_A_TASK],
            "resources": {"slots": 0},
            "environment": {
                "proxy_ports": [
                    {"proxy_port": ports[0]},
                    {"proxy_port": ports[1], "unauthenticated": True},
                ],
                "environment_variables": [f"PORTS={ports[0]} {ports[1]}", f"PLANTED={token}"],
            },
        }
        task = str(cluster.post("/api/v1/commands", {"config": config}, OWNER)["command"]["id"])
        until(lambda: "serving" in cluster.task_text(task), what="the page of the task")
        closed, open_ = (f"/proxy/{task}:{port}/" for port in ports)
        yield Site(cluster, closed, open_, has_own_origin)
        cluster.post(f"/api/v1/commands/{task}/kill", None, OWNER)


@pytest.fixture(scope="module", params=[True, False], ids=["second port", "sandbox alone"])
def site(request: pytest.FixtureRequest) -> Iterator[Site]:
    missing = reason_to_skip()
    if missing:
        pytest.skip(missing)
    with serving(request.param) as made:
        yield made


@contextmanager
def signed_in(browser: Any, site: Site, viewer: str | None) -> Iterator[Any]:
    """A browser of a person."""
    context = browser.new_context()
    context.set_default_timeout(LIMIT_MS)
    if viewer is not None:
        sent = {"username": viewer, "password": PASSWORD}
        answer = context.request.post(f"{site.cluster.address}/api/v1/auth/login", data=sent)
        assert answer.ok, answer.text()
    try:
        yield context
    finally:
        context.close()


def opened(context: Any, address: str, header: str = "") -> dict[str, str]:
    """What the page in a window managed to do; `header` is sent to open it, and not later."""
    page = context.new_page()
    if header:
        page.route(
            "**/proxy/**",
            lambda route: (
                route.continue_(headers={**route.request.headers, "authorization": header})
                if route.request.is_navigation_request()
                else route.continue_()
            ),
        )
    page.goto(address)
    found: dict[str, str] = until(lambda: page.evaluate("window.found"), what="its acts")
    page.close()
    return found


def workspaces(site: Site) -> int:
    listed = site.cluster.get("/api/v1/workspaces")["workspaces"]
    return sum("made by a page" in each["name"] for each in listed)


def names_of_login(context: Any, site: Site) -> str:
    """Who the browser is for the master, after a second try at most."""
    for _ in range(2):
        answer = context.request.get(f"{site.cluster.address}/api/v1/me")
        if answer.ok:
            return str(answer.json()["user"]["username"])
    return f"{answer.status} {answer.text()}"


WAYS = {
    "cookie": "",
    "a link with a password": "x:y@",
    "Basic": "Basic eDp5",
    "Bearer nonsense": "Bearer nonsense",
    "own scheme": "Whatever x",
}


@pytest.mark.parametrize("way", WAYS)
@pytest.mark.parametrize("port", ["closed", "open"])
@pytest.mark.parametrize("viewer", VIEWERS)
def test_a_page_is_not_of_the_masters_origin(
    viewer: str, port: str, way: str, site: Site, browser: Any
) -> None:
    master = site.cluster.address
    path = site.open if port == "open" else site.closed
    address, header = f"{master}{path}?challenge", WAYS[way]
    if header.endswith("@"):
        address, header = address.replace("://", f"://{header}"), ""
    before = workspaces(site)
    with signed_in(browser, site, viewer) as context:
        found = opened(context, address, header)
        is_own = (
            viewer == OWNER and port == "closed" and way in ("cookie", "a link with a password")
        )
        assert found["worker"] == "refused"
        if is_own and not site.has_own_origin:
            assert found["master"] == viewer, "the owner's own code, by cookie alone"
            return
        assert found["origin"] != master, found
        for act in ("here", "master", "as_master"):
            assert found[act] in ("refused", "401", "403", "404"), found
        assert found["makes"] == "refused"
        assert found["makes_plainly"] in ("refused", "0")
        assert (found["cookie"] == "planted") == is_own, found
        assert names_of_login(context, site) == viewer
    assert workspaces(site) == before


@pytest.mark.parametrize("port", ["closed", "open"])
def test_a_page_makes_nobody_of_a_stranger(port: str, site: Site, browser: Any) -> None:
    with signed_in(browser, site, None) as context:
        page = context.new_page()
        page.goto(site.cluster.address + (site.open if port == "open" else site.closed))
        if port == "open":
            until(lambda: page.evaluate("window.found"), what="the acts of the page")
        else:
            page.wait_for_url("**/det/login**")
        assert names_of_login(context, site).startswith("401 ")


def test_a_link_with_a_ticket_opens_the_page_for_its_owner_alone(site: Site, browser: Any) -> None:
    """A viewer whose pass is the owner's would see the owner's page without a sandbox."""
    if not site.has_own_origin:
        return
    services = f"http://127.0.0.1:{site.cluster.services_port}"
    with signed_in(browser, site, OWNER) as context:
        moved = context.request.get(
            site.cluster.address + site.closed,
            headers={"accept": "text/html"},
            max_redirects=0,
        )
        link = moved.headers["location"]
        assert link.startswith(f"{services}{site.closed}?det_ticket=")
    with signed_in(browser, site, "admin") as context:
        found = opened(context, link)
        assert found["origin"] == "null", "in a sandbox, with the visitor's own pass"
        assert {each["name"] for each in context.cookies()} >= {"auth", "det_service"}
