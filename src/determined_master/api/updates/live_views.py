"""Things of the live channel in the shapes of the public API."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from datetime import datetime
from typing import Any

import msgspec

from determined_master.api.cluster.agents import agent_text
from determined_master.api.experiments.experiments import live_text
from determined_master.api.experiments.trial_shapes import trial_message
from determined_master.api.http.errors import status_of
from determined_master.api.http.protojson import encode, json_number, to_json
from determined_master.api.logs.task_logs import task_line
from determined_master.domain.access.rules import Caller
from determined_master.domain.errors import DetError, NotFound
from determined_master.pools.live import LiveAllocations
from determined_master.ports.agents import AgentSnapshot
from determined_master.records.live import LiveRun, LiveTask
from determined_master.records.logs import LogRow
from determined_master.services.cluster.agents import Agents
from determined_master.services.experiments.service import Experiments
from determined_master.services.experiments.trials import Trials

_MASTER = Caller(user_id=0, username="master", is_admin=True)
"""Reads for viewers whose own permissions were checked when they subscribed."""
_SHOWN_STATES: Mapping[str | None, str] = {
    None: "QUEUED",
    "PENDING": "QUEUED",
    "ASSIGNED": "QUEUED",
    "TERMINATED": "TERMINATING",
}


class Views:
    """Implements `services.updates.live.views.LiveViews`."""

    def __init__(
        self, trials: Trials, experiments: Experiments, agents: Agents, live: LiveAllocations
    ) -> None:
        self._trials = trials
        self._experiments = experiments
        self._agents = agents
        self._live = live

    def status(self, error: DetError) -> int:
        """The HTTP status of an error."""
        return status_of(error)

    async def trials(self, ids: Sequence[int]) -> Mapping[int, tuple[int, bytes]]:
        """Trials by id, each with the id of its experiment; missing ones are left out."""
        pages = await self._trials.pages(ids)
        return {i: (p.row.experiment_id, encode(trial_message(p))) for i, p in pages.items()}

    async def experiment(self, experiment_id: int) -> bytes | None:
        """An experiment without its configuration; None if there is none."""
        try:
            row = await self._experiments.get(_MASTER, experiment_id)
        except NotFound:
            return None
        return live_text(row, self._live)

    def run(self, row: LiveRun, state: str) -> bytes:
        """A run in short, in the state that users see."""
        metrics = row.validation_metrics
        best = row.searcher_metric
        return _text(
            {
                "id": row.id,
                "experimentId": row.experiment_id,
                "projectId": row.project_id,
                "archived": row.archived,
                "state": f"STATE_{'ACTIVE' if state == 'QUEUED' else state}",
                "progress": row.progress,
                "startTime": row.started_at,
                "endTime": row.ended_at,
                "searcherMetricValue": None if best is None else json_number(best),
                "validationMetrics": None if metrics is None else msgspec.Raw(metrics.encode()),
            }
        )

    def task(self, row: LiveTask) -> bytes:
        """A task in short: an interactive one in the state that users see."""
        return _text(
            {
                "id": row.id,
                "type": f"TASK_TYPE_{row.type}",
                "state": _state(row),
                "userId": row.user_id,
                "workspaceId": row.workspace_id or 0,
                "startTime": row.started_at,
                "endTime": row.ended_at,
            }
        )

    def agent(self, agent: AgentSnapshot) -> bytes:
        """An agent with its slots and containers."""
        return agent_text(agent, self._agents)

    def log_lines(self, rows: Sequence[LogRow]) -> bytes:
        """A JSON list of lines."""
        return msgspec.json.encode([to_json(task_line(row)) for row in rows])


def _state(row: LiveTask) -> str:
    if row.type == "GENERIC":
        return f"GENERIC_TASK_STATE_{row.state}"
    if row.state == "OVER":
        return "STATE_TERMINATED"
    known = row.allocation_state
    return f"STATE_{_SHOWN_STATES.get(known, known or 'QUEUED')}"


def _text(members: Mapping[str, Any]) -> bytes:
    return msgspec.json.encode({n: _shown(v) for n, v in members.items() if v is not None})


def _shown(value: Any) -> Any:
    if isinstance(value, datetime):
        return value.isoformat(timespec="milliseconds").replace("+00:00", "Z")
    return value
