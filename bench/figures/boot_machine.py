"""From the user data of a bare machine to its slots in the list of agents.

Nothing is there but Python: the agent and its packages come from the master's wheelhouse. The real
user data is run by bash, on this machine; its agent starts no container.
"""

from __future__ import annotations

import base64
import shutil
import sys
import time

import psutil
from tests.backends.cloud.start_of_machine import Machine
from tests.e2e import scripts
from tests.e2e.cluster import Cluster, until

from bench.cloud import cloud_cluster, experiment
from bench.figure import Figure, Limit, Load, Measured

CURL = """case "$*" in
  *169.254.169.254*instance-id*) echo {id} ;;
  *169.254.169.254*local-ipv4*) echo 127.0.0.1 ;;
  *169.254.169.254*) echo token ;;
  *) exec {curl} "$@" ;;
esac"""


def measure(load: Load) -> Measured:
    """Boot one machine of a new cluster."""
    with cloud_cluster(master_host="127.0.0.1", has_wheelhouse=True) as (cluster, ec2):
        cluster.submit(experiment("boot_machine"), {"t.py": scripts.WAITS})
        until(lambda: ec2.launched, what="a launched machine")
        [name] = ec2.launched
        [call] = [one for one in ec2.requests if one.get("Action") == "RunInstances"]
        machine = Machine(cluster.root / name)
        machine.stub("python3", f'exec {sys.executable} "$@"')
        machine.stub("curl", CURL.format(id=name, curl=shutil.which("curl")))
        machine.environment = {"PIP_NO_INDEX": "1"}
        try:
            since = time.monotonic()
            done = machine.run(base64.b64decode(call["UserData"]).decode())
            if done.returncode:
                raise RuntimeError(f"the user data failed: {done.stderr}")
            until(lambda: _has_slots(cluster, name), what="the slots of a new machine")
            took = time.monotonic() - since
        finally:
            _end_agent(machine)
    return Measured([took])


def _has_slots(cluster: Cluster, name: str) -> bool:
    agents = cluster.get("/api/v1/agents")["agents"]
    return any(agent["id"] == name and agent["slots"] for agent in agents)


def _end_agent(machine: Machine) -> None:
    """And before it what starts it again: processes come in their order."""
    for process in psutil.process_iter(["environ"]):
        if (process.info["environ"] or {}).get("DETERMINED_ROOT", "") == str(machine.root):
            process.kill()


FIGURE = Figure(
    name="boot_machine",
    limits=[Limit("boot_machine", "s", 25.0, "at_most")],
    measure=None,
    measure_alone=measure,
    needs="nothing",
    full=Load(runs=3, count=1),
    smoke=Load(runs=1, count=1),
)
