"""Makes the pictures of the documents from a running cluster.

    python -m tests.webui.docs_pictures http://127.0.0.1:8080 USER PASSWORD EXPERIMENT

The cluster of `make demo` is good enough for `search`, its experiment 1. The other pictures want
what `tests.webui.seed_small` makes. Pages without their things are left out, and named.
"""

from __future__ import annotations

import sys
from pathlib import Path

from playwright.sync_api import APIRequestContext, Page, expect, sync_playwright
from tests.webui.chromium import OPTIONS, find_chromium

PLACE = Path(__file__).parents[2] / "docs" / "pictures"
SIZE = {"width": 1280, "height": 860}
RUNS_COMPARED = 4


def main() -> None:
    """Sign in once, and take a picture of each page when nothing more is loading."""
    address, user, password, experiment = sys.argv[1:5]
    PLACE.mkdir(exist_ok=True)
    with sync_playwright() as started:
        browser = started.chromium.launch(executable_path=find_chromium(), args=list(OPTIONS))
        context = browser.new_context(viewport=SIZE, reduced_motion="reduce")
        answer = context.request.post(
            f"{address}/api/v1/auth/login", data={"username": user, "password": password}
        )
        if not answer.ok:
            raise SystemExit(f"{user} cannot sign in at {address}: {answer.text()}")
        page = context.new_page()
        for name, path in addresses(context.request, address, int(experiment)).items():
            if path is None:
                print(f"{name} is left out: the cluster has nothing to show there")
                continue
            page.goto(f"{address}/det{path}")
            settled(page)
            page.screenshot(path=PLACE / f"{name}.png")
            print(PLACE / f"{name}.png")
        browser.close()


def addresses(request: APIRequestContext, master: str, experiment: int) -> dict[str, str | None]:
    """The page of each picture below `/det`; none where there is nothing to show."""
    answer = request.get(f"{master}/api/v1/experiments?limit=500").json()
    found = [each for each in answer["experiments"] if each["numTrials"]]
    singles = [each for each in found if each["numTrials"] == 1 and is_done(each)]
    project = max(
        {each["projectId"] for each in found},
        key=lambda id: sum(each["projectId"] == id for each in found),
        default=None,
    )
    together: list[str] = []
    for each in singles[:RUNS_COMPARED]:
        trials = request.get(f"{master}/api/v1/experiments/{each['id']}/trials").json()["trials"]
        together += [str(trial["id"]) for trial in trials]
    compared = ",".join(together)
    return {
        "search": f"/experiments/{experiment}/overview",
        "hyperparameters": f"/experiments/{experiment}/visualization",
        "runs": None if project is None else f"/projects/{project}/runs",
        "compare": f"/compare?runs={compared}" if len(together) > 1 else None,
        "logs": f"/experiments/{singles[0]['id']}/logs" if singles else None,
        "story": f"/experiments/{experiment}/story",
        "queue": "/resourcepool/default/queue",
    }


def is_done(experiment: dict[str, str]) -> bool:
    """Whether it has ended well."""
    return experiment["state"].endswith("COMPLETED")


def settled(page: Page) -> None:
    """Wait until the page is drawn and nothing is loading."""
    page.get_by_role("heading", level=1).first.wait_for()
    page.wait_for_load_state("networkidle")
    expect(page.locator("[data-loading]")).to_have_count(0)


if __name__ == "__main__":
    main()
