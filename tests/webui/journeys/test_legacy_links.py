"""Addresses of 0.38 and of the command line lead to their pages."""

from __future__ import annotations

import re
from typing import Any

import pytest
from playwright.sync_api import expect
from tests.webui.conftest import Site

pytestmark = [pytest.mark.e2e, pytest.mark.slow, pytest.mark.xdist_group("webui")]


GO = """address => {
  history.pushState({}, "", address);
  dispatchEvent(new PopStateEvent("popstate", { state: {} }));
}"""
"""Follows an address as the browser's Back does: without loading the scripts again."""


def links(site: Site) -> list[tuple[str, str, str]]:
    """An address, the end of the address that it leads to, and the page's heading."""
    cluster = site.cluster
    search = site.ids["experiments"]["search"]
    run = site.ids["experiments"]["diverged"]
    trial, only = cluster.trials(search)[0]["id"], cluster.trials(run)[0]["id"]
    project = site.ids["projects"]["vision/detector"]
    workspace = cluster.get(f"/api/v1/projects/{project}")["project"]["workspaceId"]
    pool = cluster.get("/api/v1/resource-pools")["resourcePools"][0]["name"]
    found = "random search over lr"
    return [
        ("/", "/dashboard", "Home"),
        ("/dashboard", "/dashboard", "Home"),
        ("/workspaces", "/workspaces", "Workspaces"),
        (f"/workspaces/{workspace}", f"/workspaces/{workspace}/projects", "vision"),
        (f"/workspaces/{workspace}/projects", f"/workspaces/{workspace}/projects", "vision"),
        ("/projects", "/projects/1/experiments", "Uncategorized"),
        (f"/projects/{project}", f"/projects/{project}/runs", "detector"),
        (f"/projects/{project}/experiments", f"/projects/{project}/experiments", "detector"),
        (f"/searches/{search}", f"/searches/{search}/runs", found),
        (f"/searches/{search}/code", f"/experiments/{search}/code", found),
        ("/experiments", "/projects/1/experiments", "Uncategorized"),
        (f"/experiments/{search}", f"/experiments/{search}/overview", found),
        (f"/experiments/{search}/overview", f"/experiments/{search}/overview", found),
        (f"/experiments/{search}/visualization/learning-curve", f"/experiments/{search}/", found),
        (f"/experiments/{run}", f"/experiments/{run}/overview", "diverged"),
        (f"/experiments/{search}/trials/{trial}/logs", f"/trials/{trial}/logs", f"Trial {trial}"),
        (f"/trials/{only}", f"/trials/{only}/overview", f"Trial {only}"),
        (f"/trials/{only}/workloads", f"/trials/{only}/overview", f"Trial {only}"),
        ("/cluster", "/clusters", "Cluster"),
        ("/cluster/logs", "/clusters/logs", "log"),
        ("/cluster/historical-usage", "/clusters/historical-usage", "usage"),
        ("/logs", "/clusters/logs", "log"),
        (f"/resourcepool/{pool}", f"/resourcepool/{pool}/queue", pool),
        (f"/resourcepool/{pool}/active", f"/resourcepool/{pool}/queue", pool),
        ("/models", "/models", "Model registry"),
        ("/models/detector", "/models/detector", "detector"),
        ("/models/detector/versions/1", "/models/detector/versions/1/overview", "Version 1"),
        ("/tasks", "/tasks", "Tasks"),
        ("/notebooks", "/tasks?type=notebook", "Tasks"),
        ("/templates", "/templates", "Templates"),
        ("/webhooks", "/webhooks", "Webhooks"),
        ("/policies", "/policies", "Config policies"),
        ("/admin", "/admin/user-management", "Administration"),
        ("/settings", "/settings", "Settings"),
    ]


def test_every_link_of_0_38_leads_to_its_page(site: Site, admin: Any) -> None:
    page = admin.goto("/dashboard")
    for address, target, heading in links(site):
        answer = admin.context.request.get(admin.url(address))
        assert answer.ok, address
        assert b"<script" in answer.body(), address
        page.evaluate(GO, f"/det{address}")
        title = page.get_by_role("heading", level=1)
        expect(title, address).to_contain_text(re.compile(re.escape(heading), re.IGNORECASE))
        expect(page, address).to_have_url(re.compile(re.escape(target)))
        expect(page, address).to_have_title(re.compile(r".+ · Determined$"))
        expect(page.get_by_text("Not found"), address).to_have_count(0)
        expect(page.get_by_role("alert").filter(has_text=re.compile(".")), address).to_have_count(
            0
        )


def test_a_page_that_does_not_exist_says_so(admin: Any) -> None:
    page = admin.goto("/no/such/page")
    expect(page.get_by_role("heading", level=1)).to_have_text("Not found")
    page = admin.goto("/experiments/999999")
    expect(page.get_by_role("heading", level=1)).to_have_text("Not found")
    expect(page).to_have_title(re.compile("Not found|999999"))


def test_links_beside_the_pages_are_served(site: Site, admin: Any) -> None:
    get = admin.context.request.get
    root = get(f"{site.address}/", max_redirects=0)
    assert (root.status, root.headers["location"]) == (301, "/det")
    for path in ("/docs", "/api/v1/api.swagger.json", "/health"):
        assert get(f"{site.address}{path}").ok, path
