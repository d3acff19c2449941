"""From the submission of a gang over 200 agents until all of its containers run.

The agents are simulated: a container runs as soon as its order has come. What is measured is the
master: experiment, trial and allocation are made, the gang is placed, 200 orders go out, and 400
states come back to one allocation.
"""

from __future__ import annotations

from datetime import UTC, datetime
from typing import Any

from bench import experiments
from bench.cluster import Cluster, until
from bench.figure import Figure, Limit, Load, Measured
from bench.fleet import simulated_cluster
from bench.rows import fetch_value

SLOTS = 8
LIMIT_S = 120.0
_STARTED = """
    SELECT min(logged_at) FROM task_logs
     WHERE source = 'master' AND log LIKE 'Resources for Trial % have started%'
"""
_BYTES = "SELECT max(length(state)) FROM aggregates WHERE kind = 'allocation'"


def measure_alone(load: Load) -> Measured:
    """Seconds by the master's own line that all containers have started, stored with the state."""
    with simulated_cluster(load.count, SLOTS) as (cluster, fleet):
        body = experiments.submission("return_at_once.py", slots=SLOTS * load.count)
        began_at = datetime.now(UTC)
        experiments.send(cluster, body)
        fleet.wait_for("running", load.count, LIMIT_S)
        until(lambda: _started_at(cluster) is not None, LIMIT_S, "its start", pause_s=0.05)
        seconds = (_started_at(cluster) - began_at).total_seconds()
        state_bytes = fetch_value(cluster, _BYTES)
        facts = {"agents": load.count, "slots": SLOTS, "state_bytes": state_bytes}
    return Measured([seconds], facts)


def _started_at(cluster: Cluster) -> Any:
    return fetch_value(cluster, _STARTED)


FIGURE = Figure(
    name="gang_200",
    limits=[Limit("time", "s", 5.0, "at_most")],
    measure=None,
    measure_alone=measure_alone,
    full=Load(runs=3, count=200),
    smoke=Load(runs=1, count=20),
    needs="nothing",
)
