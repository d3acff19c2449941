"""What tests ask a cluster over its API."""

from __future__ import annotations

import base64
import json
import sys
import time
from collections.abc import Callable, Iterator
from typing import Any

from determined.common.api import RetryPolicy, Session, authentication
from determined.common.api.certs import Cert

PASSWORD = "Secret-1234"
ENDED = ("COMPLETED", "CANCELED", "ERROR")


LAUNCH_RETRY_S = 240.0
"""A deadline is no claim: a machine that is busy with other things may take this long.

At a load of 15 on two cores, two minutes were too short to boot a machine and train on it.
"""


def until(
    claim: Callable[[], Any],
    limit_s: float = LAUNCH_RETRY_S,
    what: str | Callable[[], str] = "it",
) -> Any:
    """Wait until a claim holds; returns what it says. A function names what holds it up."""
    deadline = time.monotonic() + limit_s
    while True:
        said = claim()
        if said:
            return said
        if time.monotonic() >= deadline:
            name = what if isinstance(what, str) else what()
            raise AssertionError(f"{name} did not come true in {limit_s:.0f} s")
        time.sleep(0.02)


class ClusterApi:
    """A master at an address, as its users see it."""

    def __init__(self, address: str) -> None:
        self.address = address
        self.cert: Cert | None = None
        """By which it is trusted, when it serves HTTPS."""
        self._sessions: dict[str, Session] = {}

    def close_sessions(self) -> None:
        """Give back all connections."""
        for session in self._sessions.values():
            session.close()

    def session(self, user: str = "admin") -> Session:
        """A session of a user, opened once."""
        if user not in self._sessions:
            retries = RetryPolicy(total=10)
            options = authentication.Options(cert=self.cert, max_retries=retries)
            self._sessions[user] = authentication.login(self.address, user, PASSWORD, options)
        return self._sessions[user]

    def get(self, path: str, **params: Any) -> Any:
        """GET a path of the API."""
        return self.session().get(path, params=params).json()

    def post(self, path: str, body: Any = None, user: str = "admin") -> Any:
        """POST to a path of the API."""
        return self.session(user).post(path, json=body).json()

    def connected(self) -> list[str]:
        """Ids of agents that are in."""
        return [a["id"] for a in self.get("/api/v1/agents")["agents"] if a["enabled"]]

    def submit(self, config: dict[str, Any], files: dict[str, str], **more: Any) -> int:
        """Create an experiment; its id."""
        return int(self.create(config, files, **more)["experiment"]["id"])

    def create(self, config: dict[str, Any], files: dict[str, str], **more: Any) -> dict[str, Any]:
        """Create an experiment; all of the answer."""
        answer: dict[str, Any] = self.post("/api/v1/experiments", self.body(config, files, **more))
        return answer

    def body(self, config: dict[str, Any], files: dict[str, str], **more: Any) -> dict[str, Any]:
        """What creates an experiment."""
        return {
            "config": json.dumps(config),
            "modelDefinition": [
                {
                    "path": path,
                    "type": 48,
                    "mode": 0o100644,
                    "mtime": "0",
                    "content": base64.b64encode(text.encode()).decode(),
                }
                for path, text in files.items()
            ],
            "activate": True,
            **more,
        }

    def state(self, experiment: int) -> str:
        """The state that users see."""
        found: str = self.get(f"/api/v1/experiments/{experiment}")["experiment"]["state"]
        return found.removeprefix("STATE_")

    def wait(self, experiment: int, limit_s: float = LAUNCH_RETRY_S) -> str:
        """The state in which an experiment ended."""

        def ended() -> str | None:
            state = self.state(experiment)
            return state if state in ENDED else None

        state = str(until(ended, limit_s, f"the end of experiment {experiment}"))
        if state == "ERROR":  # shown by pytest when that is not what the test expects
            for trial in self.trials(experiment)[:3]:
                sys.stdout.write(self.text(trial["id"]))
        return state

    def trials(self, experiment: int) -> list[dict[str, Any]]:
        """All trials of an experiment."""
        path = f"/api/v1/experiments/{experiment}/trials"
        trials: list[dict[str, Any]] = self.get(path, limit=-1)["trials"]
        return trials

    def summed(self, trial: int, group: str, count: int) -> dict[str, Any]:
        """The summary of a trial's loss, once it counts so many; its row follows at a distance."""

        def found() -> dict[str, Any] | None:
            told = self.get(f"/api/v1/trials/{trial}")["trial"]["summaryMetrics"]
            loss: dict[str, Any] = told.get(group, {}).get("loss", {})
            return loss if loss.get("count") == count else None

        summary: dict[str, Any] = until(found, what=f"a summary of {count} reports")
        return summary

    def lines(self, trial: int) -> Iterator[dict[str, Any]]:
        """A trial's log, followed to its end."""
        path = f"/api/v1/trials/{trial}/logs"
        answer = self.session().get(path, params={"follow": True}, stream=True)
        for line in answer.iter_lines():
            if line.strip():
                yield json.loads(line)["result"]

    def text(self, trial: int) -> str:
        """A trial's log as one text."""
        return "".join(line["log"] for line in self.lines(trial))
