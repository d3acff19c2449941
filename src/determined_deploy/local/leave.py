"""Lets trials save their work before agents stop, without counting a restart."""

from __future__ import annotations

import contextlib
import re
import time
from typing import Any, Callable, Dict, Iterator, List, Optional, Sequence

from determined.cli import errors
from determined.common.api import Session
from determined.common.api import errors as api_errors
from determined_deploy.local import layout, ready

SAVE_LIMIT_S = 120.0
_KILL_LIMIT_S = 15.0
_PAUSE_S = 0.2
_ANSWER_S = 10.0
_TRIAL = re.compile(r"[0-9]+\.[0-9a-f-]{36}")
"""Ids of trials' tasks; only these can save work and continue."""

Say = Callable[[str], None]


@contextlib.contextmanager
def emptied(cluster: layout.ClusterLayout, agents: Sequence[str], say: Say) -> Iterator[None]:
    """Ask the trials on these agents to save and exit; end what is left after a while.

    None of this counts as a failure of a trial. The agents get no new work inside of the block,
    in which the caller stops them; afterwards they take work again when they return. Agents that
    an admin has switched off stay so. Without a master that answers, nothing is asked.
    """
    with contextlib.ExitStack() as stack:
        try:
            session = stack.enter_context(_admin(cluster))
            listed = session.get("/api/v1/agents", timeout=_ANSWER_S).json()["agents"]
            free = [a["id"] for a in listed if a.get("enabled") and not a.get("draining")]
            names = [name for name in agents if name in free]
            if names and _allocations(session, names):
                stack.callback(_enable, session, names)
                _empty(session, names, say)
        except (errors.CliError, api_errors.APIException) as error:
            say(f"trials are not asked to save their work: {str(error).splitlines()[0]}")
        yield


def _enable(session: Session, agents: Sequence[str]) -> None:
    for name in agents:
        with contextlib.suppress(api_errors.APIException, api_errors.MasterNotFoundException):
            session.post(f"/api/v1/agents/{name}/enable")


def _empty(session: Session, agents: Sequence[str], say: Say) -> None:
    for name in agents:
        session.post(f"/api/v1/agents/{name}/disable", json={"drain": True})
    running = _allocations(session, agents)
    trials = [task for task in running if _TRIAL.fullmatch(task["taskId"])]
    for task in trials:
        with contextlib.suppress(api_errors.APIException):  # it has just ended
            path = f"/api/v1/allocations/{task['allocationId']}/signals/pending_preemption"
            session.post(path, json={"allocationId": task["allocationId"]})
    if trials:
        count = f"{len(trials)} trial{'' if len(trials) == 1 else 's'}"
        say(f"waiting until {count} saved their work (at most {SAVE_LIMIT_S:.0f} s)")
        remaining = _wait(session, agents, SAVE_LIMIT_S, {task["allocationId"] for task in trials})
        if remaining:
            say(f"{len(remaining)} did not: they continue from their last checkpoint")
    for name in agents:
        session.post(f"/api/v1/agents/{name}/disable", json={"drain": False})
    _wait(session, agents, _KILL_LIMIT_S, None)


def _wait(
    session: Session, agents: Sequence[str], limit_s: float, ids: Optional[Any]
) -> List[Dict[str, Any]]:
    """Wait until the agents have no allocations (of these ids); the ones that are left."""
    deadline = time.monotonic() + limit_s
    while True:
        remaining = _allocations(session, agents)
        remaining = (
            remaining
            if ids is None
            else [task for task in remaining if task["allocationId"] in ids]
        )
        if not remaining or time.monotonic() > deadline:
            return remaining
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
