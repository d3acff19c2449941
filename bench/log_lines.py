"""Lines of tasks: printed by a task that an agent runs, or posted to the master."""

from __future__ import annotations

import json
import time
from collections.abc import Iterator
from dataclasses import dataclass

from bench import experiments, rows
from bench.cluster import Cluster, until
from bench.load.http_load import request_bytes

LINE_BYTES = 120
LIMIT_S = 120.0


@dataclass(frozen=True)
class Printing:
    """A task that prints lines as fast as it can."""

    experiment_id: int
    task_id: str
    lines: int
    started_at: float
    """When its first line was about to be printed, in seconds of the machine's clock."""


def start_printing(cluster: Cluster, lines: int) -> Printing:
    """Submit an experiment that prints so many lines; returns when it begins to."""
    written = cluster.directory / f"printing-{next(cluster.steps)}"
    written.touch()
    written.chmod(0o666)
    variables = {"BENCH_FILE": str(written), "BENCH_LINES": str(lines)}
    experiment_id = experiments.submit(cluster, "print_lines.py", variables=variables)
    until(lambda: written.read_text() != "", 60, "a task that prints")
    [trial_id] = experiments.trial_ids(cluster, experiment_id)
    task_id = experiments.task_id(cluster, trial_id)
    return Printing(experiment_id, task_id, lines, float(written.read_text()))


def wait_until_stored(cluster: Cluster, printing: Printing) -> float:
    """Wait until all lines are stored, and read a page of them back; lines a second."""
    until(lambda: rows.count_lines(cluster, printing.task_id) >= printing.lines, LIMIT_S, "lines")
    rate = printing.lines / (time.time() - printing.started_at)
    experiments.wait_until_ended(cluster, printing.experiment_id)
    check_page(cluster, printing)
    return rate


def check_page(cluster: Cluster, printing: Printing) -> None:
    """What was printed is what is read back, line by line.

    Raises:
        RuntimeError: a line is missing, or stands where it should not.
    """
    query = """
        SELECT count(*) FROM (
            SELECT log, row_number() OVER (ORDER BY id) - 1 AS n FROM task_logs
             WHERE task_id = $1 AND log LIKE 'line %') AS line
         WHERE substr(log, 6, 9)::int = n AND octet_length(log) = $2
    """
    right = int(rows.fetch_value(cluster, query, printing.task_id, LINE_BYTES))
    if right != printing.lines:
        raise RuntimeError(f"{printing.lines} lines were printed, {right} are stored in order")


def posts(cluster: Cluster, task_id: str, count: int, lines: int) -> Iterator[bytes]:
    """`count` requests to `POST /api/v1/task/logs` of so many lines each.

    One of all the lines has a byte that is no text, in the way that Python's clients send it.
    """
    for n in range(count):
        entries = [
            {
                "taskId": task_id,
                "containerId": "0d9b9c1e-5a1c-4d0e-9f7e-2f1c1f0e0a11",
                "rankId": 0,
                "timestamp": "2026-01-01T00:00:00.123456+00:00",
                "level": "LOG_LEVEL_INFO",
                "log": _posted(n * lines + i),
                "source": "task",
                "stdtype": "stdout",
            }
            for i in range(lines)
        ]
        body = json.dumps({"logs": entries}).encode()
        yield request_bytes(cluster, "POST", "/api/v1/task/logs", body)


def _posted(number: int) -> str:
    text = f"line {number:09d} as a task's log shipper sends it "
    return (text if number else f"{text}\udc80").ljust(LINE_BYTES - 1, ".") + "\n"
