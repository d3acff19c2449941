"""Steps of the engine, in a process and on a database of its own."""

from __future__ import annotations

import json
import os
import subprocess
import sys

from bench.cluster import ROOT
from bench.figure import Figure, Limit, Load, Measured

AGGREGATES = 1000


def measure_alone(load: Load) -> Measured:
    """Run `bench.engine_steps` and read what it prints."""
    command = [sys.executable, "-m", "bench.engine_steps", "--runs", "1"]
    command += ["--seconds", str(load.seconds), "--aggregates", str(AGGREGATES)]
    environment = {**os.environ, "PYTHONPATH": str(ROOT / "src")}
    done = subprocess.run(
        command,
        cwd=ROOT,
        env=environment,
        capture_output=True,
        text=True,
        timeout=120,
        check=False,
    )
    if done.returncode:
        raise RuntimeError(f"bench.engine_steps failed: {done.stderr[-1000:]}")
    lines = [json.loads(line) for line in done.stdout.splitlines()]
    values = {line["name"]: float(line["value"]) for line in lines}
    return Measured(
        [values["engine_steps"], values["engine_steps_p99"]],
        {"state_bytes": lines[0]["state_bytes"], "aggregates": AGGREGATES},
    )


FIGURE = Figure(
    name="engine_steps",
    limits=[Limit("rate", "steps/s", 3000.0), Limit("p99", "ms", 20.0, "at_most")],
    measure=None,
    measure_alone=measure_alone,
    full=Load(runs=3, seconds=5.0),
    smoke=Load(runs=1, seconds=1.0),
    needs="nothing",
)
