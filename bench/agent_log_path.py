"""How many lines a second pass from tasks' stdout through shim and agent to the master's store.

Real processes and a real socket; the store counts the lines and keeps none, so this is the
path alone: what the database takes is measured by `log_ingest`. Prints one JSON object.

    python -m bench.agent_log_path
"""

from __future__ import annotations

import asyncio
import json
import statistics
import sys
import tempfile
import time
import uuid
from pathlib import Path

from tests.agent_link import (
    AgentProcess,
    OpenDoor,
    Recorder,
    identity,
    listening,
    order,
    spec,
    until,
)

from determined_master.backends.agents.backend import AgentBackend
from determined_wire.agent_link import LogBatch

TASKS = 2
RUNS = 3
TARGET = 50_000


class Counter(Recorder):
    """Counts lines."""

    def __init__(self) -> None:
        super().__init__()
        self.count = 0
        self.ended = 0

    async def store_logs(self, agent_id: str, batch: LogBatch) -> int:
        """Count."""
        lines = batch.text.split("\n") if batch.spans else []
        self.count += len(lines)
        self.ended += batch.is_last
        return batch.first_seq + len(lines) - 1


async def one_run(lines: int) -> float:
    """Lines a second, from the first order to the last line."""
    events = Counter()
    script = (
        "line = 'x' * 119",
        f"for _ in range({lines // TASKS}):",
        "    print(line)",
    )
    with tempfile.TemporaryDirectory() as work_dir:
        async with listening() as listener:
            backend = AgentBackend(identity(), events, OpenDoor())
            backend.open({}, 1)
            listener.backend = backend
            agent = AgentProcess(Path(work_dir), listener.port, artificial_slots=TASKS)
            agent.start()
            try:
                await until(lambda: any(a.is_connected for a in backend.agents()))
                began_s = time.monotonic()
                for slot in range(TASKS):
                    what = order(str(uuid.uuid4()), spec(*script), slot_ids=(slot,))
                    await backend.start_container(what)
                await until(lambda: events.ended == TASKS, 300)
                took_s = time.monotonic() - began_s
            finally:
                await asyncio.to_thread(agent.stop)
    assert events.count == lines, f"{events.count} lines of {lines} arrived"
    return lines / took_s


def main() -> None:
    """Measure; an argument scales the number of lines."""
    lines = int(600_000 * float(sys.argv[1] if len(sys.argv) > 1 else 1)) // TASKS * TASKS
    rates = [asyncio.run(one_run(lines)) for _ in range(RUNS)]
    figure = {
        "name": "agent_log_path",
        "value": round(statistics.median(rates)),
        "unit": "lines/s",
        "target": TARGET,
    }
    print(json.dumps(figure))


if __name__ == "__main__":
    main()
