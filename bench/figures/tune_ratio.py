"""Forty trials of one second on two slots, ours over Ray Tune; each clock starts with nothing up.

Both search at random and report one number a trial. Ours: `det deploy local cluster-up` with two
agents of one slot, until the experiment has ended. Theirs: a process that imports Ray, until it
says that its search is done.
"""

from __future__ import annotations

import os
import subprocess
import tempfile
import time
from pathlib import Path

from bench import experiments, peers
from bench.cluster import start_cluster
from bench.figure import Figure, Limit, Load, Measured

SLOTS = 2
TRIAL_S = 1.0
LIMIT_S = 600.0


def measure_alone(load: Load) -> Measured:
    """The ratio of the two times."""
    commands = peers.environment("ray", ["ray[tune]"])
    ideal_s = load.count * TRIAL_S / SLOTS
    theirs_s = _ray(commands, load.count)
    ours_s = _determined(load.count)
    facts = {"ours_s": round(ours_s, 1), "ray_s": round(theirs_s, 1), "ideal_s": ideal_s}
    return Measured([ours_s / theirs_s], {"trials": load.count, **facts})


def _determined(trials: int) -> float:
    searcher = {
        "name": "random",
        "metric": "loss",
        "max_trials": trials,
        "max_concurrent_trials": SLOTS,
    }
    since = time.monotonic()
    with start_cluster(agents=SLOTS, is_first=True) as cluster:
        experiment_id = experiments.submit(cluster, "train_one_second.py", searcher=searcher)
        experiments.wait_until_ended(cluster, experiment_id, LIMIT_S)
        return time.monotonic() - since


def _ray(commands: Path, trials: int) -> float:
    with tempfile.TemporaryDirectory(prefix="det-bench-ray-") as directory:
        command = [str(commands / "python"), str(peers.PROGRAMS / "tune_trials.py")]
        environment = {
            **os.environ,
            "RAY_USAGE_STATS_ENABLED": "0",
            "TUNE_DISABLE_AUTO_CALLBACK_LOGGERS": "1",
        }
        since = time.monotonic()
        with subprocess.Popen(
            [*command, str(trials), directory],
            env=environment,
            cwd=directory,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            text=True,
        ) as process:
            assert process.stdout is not None
            is_done = any(line.strip() == "DONE" for line in process.stdout)
            seconds = time.monotonic() - since
            process.wait(LIMIT_S)
    if not is_done or process.returncode:
        raise RuntimeError(f"Ray Tune ended with {process.returncode} before its search was done")
    return seconds


FIGURE = Figure(
    name="tune_ratio",
    limits=[Limit("ratio", "of Ray Tune's time", 0.6, "at_most", judged="ratio")],
    measure=None,
    measure_alone=measure_alone,
    full=Load(runs=1, count=40),
    smoke=Load(runs=1, count=4),
    needs="nothing",
)
