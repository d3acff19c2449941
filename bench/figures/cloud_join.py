"""From the boot of a machine on demand to its slots in the list of agents."""

from __future__ import annotations

import json
import shutil
import statistics
import sys
import tempfile
import time
from pathlib import Path

import psutil
from tests.backends.cloud.start_of_machine import Machine
from tests.e2e.cluster import Cluster, until

from bench.figure import Figure, Limit, Load, Measured
from determined_master.backends.cloud.start_script import Boot, Identity, start_script

AGENT = f'exec {sys.executable} -m determined_agent.main "$@"'


def measure(load: Load) -> Measured:
    """Boot `count` machines one after the other; the agent is on each of them.

    The start script is the real one, run by bash on this machine; its agent starts no container.
    """
    root = Path(tempfile.mkdtemp(prefix="det-bench-", dir="/tmp"))
    root.chmod(0o711)
    cluster = Cluster(root, agents=0, slots=1)
    cluster.start()
    try:
        took = [_join(cluster, number) for number in range(load.count)]
    finally:
        _end_agents(root)
        cluster.stop()
        shutil.rmtree(root, ignore_errors=True)
    facts = {"fastest": round(min(took), 2), "slowest": round(max(took), 2)}
    return Measured([statistics.median(took)], facts)


def _join(cluster: Cluster, number: int) -> float:
    name = f"i-{number}"
    machine = Machine(cluster.root / name)
    (machine.stubs / "curl").unlink()
    machine.stub("determined-agent", AGENT)
    config = {"container_runtime": "process", "work_dir": str(machine.directory / "work")}
    boot = Boot(
        resource_pool="default",
        image="",
        master_host="127.0.0.1",
        master_port=cluster.port,
        identity=Identity(f"echo {name}", "echo 127.0.0.1"),
        join_token=cluster.join_token.read_text(),
        slot_type="cpu",
        agent_config=json.dumps(config),
    )
    since = time.monotonic()
    done = machine.run(start_script(boot))
    if done.returncode:
        raise RuntimeError(f"the start script failed: {done.stderr}")
    until(lambda: _has_slots(cluster, name), what="the slots of a new machine")
    return time.monotonic() - since


def _has_slots(cluster: Cluster, name: str) -> bool:
    listed = cluster.get("/api/v1/agents")["agents"]
    return any(agent["id"] == name and agent["slots"] for agent in listed)


def _end_agents(root: Path) -> None:
    """The agents, and before them what starts them again: processes come in their order."""
    for process in psutil.process_iter(["environ"]):
        place = (process.info["environ"] or {}).get("DETERMINED_ROOT", "")
        if place.startswith(str(root)):
            process.kill()


FIGURE = Figure(
    name="cloud_join",
    limits=[Limit("p50", "s", 5.0, "at_most")],
    measure=None,
    measure_alone=measure,
    needs="nothing",
    full=Load(runs=1, count=10),
    smoke=Load(runs=1, count=2),
)
