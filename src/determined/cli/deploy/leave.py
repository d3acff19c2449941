"""Lets trials save their work before a cluster stops, and run again after its next start."""

from __future__ import annotations

import contextlib
import re
import time
from typing import Any, Callable, Dict, Iterator, List, Optional, Sequence

from determined.cli import errors
from determined.cli.deploy import layout, ready, specs
from determined.common.api import Session
from determined.common.api import errors as api_errors

SAVE_LIMIT_S = 120.0
_KILL_LIMIT_S = 15.0
_PAUSE_S = 0.2
_ANSWER_S = 10.0
_TRIAL = re.compile(r"[0-9]+\.[0-9a-f-]{36}")
"""Ids of trials' tasks; only these can save work and continue."""

Say = Callable[[str], None]


def let_trials_save(cluster: layout.ClusterLayout, agents: Sequence[str], say: Say) -> None:
    """Ask the trials on these agents to save and exit; end what is left after a while.

    None of this counts as a failure of a trial. The agents get no new work until `welcome_back`.
    Without a master that answers, nothing is asked.
    """
    try:
        with _admin(cluster) as session:
            _empty(cluster, session, agents, say)
    except (errors.CliError, api_errors.APIException, api_errors.MasterNotFoundException) as error:
        say(f"trials are not asked to save their work: {str(error).splitlines()[0]}")


def welcome_back(cluster: layout.ClusterLayout, agents: Sequence[str]) -> None:
    """Give work to the agents again that `let_trials_save` has emptied."""
    emptied = _emptied(cluster).intersection(agents)
    if not emptied:
        return
    with _admin(cluster) as session:
        for name in sorted(emptied):
            with contextlib.suppress(api_errors.NotFoundException):
                session.post(f"/api/v1/agents/{name}/enable")
    _remember(cluster, _emptied(cluster) - emptied)


def _empty(
    cluster: layout.ClusterLayout, session: Session, agents: Sequence[str], say: Say
) -> None:
    running = _allocations(session, agents)
    if not running:
        return
    there = [agent["id"] for agent in session.get("/api/v1/agents").json()["agents"]]
    present = [name for name in agents if name in there]
    enabled = {a["id"] for a in session.get("/api/v1/agents").json()["agents"] if a["enabled"]}
    _remember(cluster, _emptied(cluster) | enabled.intersection(present))
    for name in present:
        session.post(f"/api/v1/agents/{name}/disable", json={"drain": True})
    trials = [task for task in running if _TRIAL.fullmatch(task["taskId"])]
    for task in trials:
        with contextlib.suppress(api_errors.APIException):  # it has just ended
            path = f"/api/v1/allocations/{task['allocationId']}/signals/pending_preemption"
            session.post(path, json={"allocationId": task["allocationId"]})
    if trials:
        count = f"{len(trials)} trial{'' if len(trials) == 1 else 's'}"
        say(f"waiting until {count} saved their work (at most {SAVE_LIMIT_S:.0f} s)")
        ids = {task["allocationId"] for task in trials}
        left = _wait(session, present, SAVE_LIMIT_S, ids)
        if left:
            say(f"{len(left)} did not: they continue from their last checkpoint")
    for name in present:
        session.post(f"/api/v1/agents/{name}/disable", json={"drain": False})
    _wait(session, present, _KILL_LIMIT_S, None)


def _wait(
    session: Session, agents: Sequence[str], limit_s: float, ids: Optional[Any]
) -> List[Dict[str, Any]]:
    """Wait until the agents have no allocations (of these ids); the ones that are left."""
    deadline = time.monotonic() + limit_s
    while True:
        left = _allocations(session, agents)
        left = left if ids is None else [task for task in left if task["allocationId"] in ids]
        if not left or time.monotonic() > deadline:
            return left
        time.sleep(_PAUSE_S)


def _allocations(session: Session, agents: Sequence[str]) -> List[Dict[str, Any]]:
    """The allocations that have a container on one of these agents."""
    answer = session.get("/api/v1/tasks", timeout=_ANSWER_S).json()
    return [
        task
        for task in (answer.get("allocationIdToSummary") or {}).values()
        if any(
            name in agents
            for resources in task.get("resources") or ()
            for name in resources.get("agentDevices") or ()
        )
    ]


@contextlib.contextmanager
def _admin(cluster: layout.ClusterLayout) -> Iterator[Session]:
    """A session of the cluster's admin. Raises CliError."""
    if not cluster.address.exists():
        raise errors.CliError("the cluster was never up")
    with ready.sign_in(cluster, cluster.address.read_text(), ready.ADMIN, "") as session:
        yield session


def _emptied(cluster: layout.ClusterLayout) -> set[str]:
    try:
        return set(cluster.emptied.read_text().split())
    except FileNotFoundError:
        return set()


def _remember(cluster: layout.ClusterLayout, names: set[str]) -> None:
    if names:
        specs.write_private(cluster.emptied, "\n".join(sorted(names)) + "\n")
    else:
        cluster.emptied.unlink(missing_ok=True)
