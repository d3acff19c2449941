"""Records the answers that the key screens need, and draws their pictures again.

    python -m tests.webui.visual.record            both
    python -m tests.webui.visual.record pictures   the pictures alone, after a change of the pages

Look at every picture that has changed before you commit it.
"""

from __future__ import annotations

import sys
import time
from typing import Any

from playwright.sync_api import Browser, sync_playwright
from tests.e2e.cluster_api import PASSWORD
from tests.e2e.conftest import running
from tests.webui.chromium import OPTIONS, find_chromium
from tests.webui.seed_small import seed
from tests.webui.visual.compare import DRAWN_BY, PICTURES
from tests.webui.visual.replay import Recording, Replay
from tests.webui.visual.screens import SCREENS

SLOTS = 2
RUNS_COMPARED = 4


def main() -> None:
    """Record and draw."""
    with sync_playwright() as started:
        browser = started.chromium.launch(executable_path=find_chromium(), args=list(OPTIONS))
        if "pictures" not in sys.argv[1:]:
            with running(slots=SLOTS) as cluster:
                made = seed(cluster.address, "admin", PASSWORD)
                record(browser, cluster, made)
        draw(browser)
        browser.close()


def record(browser: Browser, cluster: Any, made: dict[str, Any]) -> None:
    """Visit every screen of a cluster."""
    experiments = made["experiments"]
    trials = [
        t["id"] for e in list(experiments.values())[:RUNS_COMPARED] for t in cluster.trials(e)
    ]
    ids = {
        "project": made["projects"]["vision/detector"],
        "run": next(iter(experiments.values())),
        "runs": ",".join(map(str, trials)),
        **{name: experiments[name] for name in ("failed", "search", "waiting")},
    }
    token = cluster.session().token
    recording = Recording(int(time.time() * 1000), ids)
    for screen in SCREENS:
        visit = Replay(browser, recording, master=cluster.address, token=token, **screen.options)
        screen.act(visit.goto(screen.address(ids)))
        visit.settle()
        visit.context.close()
        print(f"recorded {screen.name}: {len(recording.answers)} answers in all", flush=True)
    recording.save()


def draw(browser: Browser) -> None:
    """A picture of every screen."""
    recording = Recording.load()
    PICTURES.mkdir(exist_ok=True)
    DRAWN_BY.write_text(f"{browser.version}\n")
    for screen in SCREENS:
        visit = Replay(browser, recording, **screen.options)
        screen.act(visit.goto(screen.address(recording.ids)))
        visit.settle()
        if visit.missing:
            raise SystemExit(f"{screen.name} asks for what is not recorded: {visit.missing}")
        visit.page.screenshot(path=PICTURES / f"{screen.name}.png")
        visit.context.close()
        print(f"drew {screen.name}", flush=True)


if __name__ == "__main__":
    main()
