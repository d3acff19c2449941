"""What tasks report of themselves by their output: `why` and the story have it."""

from __future__ import annotations

import pytest
from tests.e2e.cluster import Cluster, until
from tests.e2e.test_life import config

pytestmark = [pytest.mark.e2e, pytest.mark.slow]

NO_WAY_OUT = '''
"""Trains behind a proxy that answers 502 until `why` has named it."""
import http.server, os, pathlib, threading
from determined import core
from determined.common.api import _retry
from determined.common.api._task_session import TaskSession

_retry.LATE_S = 0.5
os.environ.pop("NO_PROXY", None)
os.environ.pop("no_proxy", None)

class Proxy(http.server.BaseHTTPRequestHandler):
    def do_POST(self):
        if not pathlib.Path(os.environ["MENDED"]).exists():
            return self.send_error(502)
        self.send_response(200)
        self.send_header("Content-Type", "application/json")
        self.end_headers()
        self.wfile.write(b"{}")

with core.init():
    proxy = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Proxy)
    threading.Thread(target=proxy.serve_forever, daemon=True).start()
    os.environ["HTTP_PROXY"] = f"http://127.0.0.1:{proxy.server_address[1]}"
    TaskSession.from_environment(os.environ).post("/api/v1/x", json={})
'''
STUCK = """
import os, pathlib, threading
from determined import core
from determined.core import _thread_watch
_thread_watch.AFTER_S = 0.1
def load():
    while not pathlib.Path(os.environ["MENDED"]).exists():
        threading.Event().wait(0.05)
threading.Thread(target=load, name="loader").start()
with core.init():
    raise RuntimeError("the step failed")
"""


@pytest.mark.parametrize(
    ("script", "said", "event", "end"),
    [
        (NO_WAY_OUT, "(HTTP_PROXY): 502; trying until ", "master unreachable", "COMPLETED"),
        (STUCK, "waits for the threads loader", "main thread ended", "ERROR"),
    ],
    ids=["proxy", "thread"],
)
def test_why_and_story_name_what_a_running_trial_is_stuck_at(
    cluster: Cluster, script: str, said: str, event: str, end: str
) -> None:
    mended = cluster.root / f"mended {event}"
    environment = {"environment_variables": [f"MENDED={mended}"]}
    experiment = cluster.submit(config(environment=environment), {"t.py": script})

    def why() -> str:
        return str(cluster.get(f"/api/v1/job-queues/{experiment}/why")["text"])

    until(lambda: said in why(), what="the reason in `det job why`")
    mended.touch()
    assert cluster.wait(experiment) == end
    [trial] = cluster.trials(experiment)
    lines = cluster.get(f"/api/v1/trials/{trial['id']}/story", limit=1000)["lines"]
    story = [line["text"] for line in lines]
    assert any(event in line and said in line for line in story), story
    assert any("master reached" in line for line in story) is (event == "master unreachable")
    text = cluster.text(trial["id"])
    assert said in text
    assert "\x1b]" not in text
