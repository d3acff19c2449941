"""From a cloud's notice to the saved work and to the call that launches the replacement."""

from __future__ import annotations

import statistics
import time

from tests.backends.cloud.ec2_server import Ec2Server
from tests.e2e import scripts
from tests.e2e.busy_agents import running_on
from tests.e2e.cluster import Cluster, Way, until
from tests.metadata_service import MetadataService, metadata_service

from bench.cloud import POOL, cloud_cluster, experiment, launches
from bench.figure import Figure, Limit, Load, Measured


def measure(load: Load) -> Measured:
    """Take `count` machines back, each in the middle of a trial that then ends elsewhere."""
    saved, asked, restarts = [], [], 0
    with cloud_cluster(max_instances=4 * load.count) as (cluster, ec2):
        for _ in range(load.count):
            one = _one(cluster, ec2)
            saved.append(one[0])
            asked.append(one[1])
            restarts += one[2]
    slowest = max(max(pair) for pair in zip(saved, asked, strict=True))
    facts = {
        "saved_p50": round(statistics.median(saved), 3),
        "asked_p50": round(statistics.median(asked), 3),
    }
    return Measured([slowest, float(restarts)], facts)


def _one(cluster: Cluster, ec2: Ec2Server) -> tuple[float, float, int]:
    """Seconds to the checkpoint and to the launch of the replacement, and counted restarts."""
    before = len(launches(ec2))
    id = cluster.submit(experiment("cloud_takeback"), {"t.py": scripts.WAITS})
    with metadata_service() as service:
        first = _machine(cluster, ec2, before, service)
        until(lambda: running_on(cluster) == [first], what="the task on its machine")
        until(lambda: cluster.trials(id)[0]["totalBatchesProcessed"], what="its first step")
        service.is_taken_back = True
        since = time.monotonic()
        path = f"/api/v1/experiments/{id}/checkpoints"
        until(lambda: cluster.get(path)["checkpoints"], what="saved work")
        saved_s = time.monotonic() - since
        until(lambda: len(launches(ec2)) > before + 1, what="the replacement")
        asked_s = launches(ec2)[before + 1] - since
        until(lambda: not running_on(cluster), what="an empty machine")
        cluster.kill(first)  # as the cloud does
        ec2.instance(first).terminate()
    with metadata_service() as service:
        second = _machine(cluster, ec2, before + 1, service)
        cluster.wait(id)
        cluster.settle()  # garbage collection would order one more machine
        cluster.kill(second)
        ec2.instance(second).terminate()
    [trial] = cluster.trials(id)
    return saved_s, asked_s, int(trial["restarts"])


def _machine(cluster: Cluster, ec2: Ec2Server, number: int, service: MetadataService) -> str:
    """Boot the machine of a launch: its agent, on this machine; its id."""
    until(lambda: len(ec2.launched) > number, what="a launched machine")
    name = ec2.launched[number]
    endpoint = f"AWS_EC2_METADATA_SERVICE_ENDPOINT=http://{service.address}"
    options = ("--machine-cloud", "aws", "--resource-pool", POOL)
    cluster.ways[name] = Way(prefix=("env", endpoint), options=options)
    cluster.start_agent(name)
    return name


FIGURE = Figure(
    name="cloud_takeback",
    limits=[
        Limit("saved_and_asked", "s", 10.0, "at_most"),
        Limit("restarts", "", 0, "at_most", judged="count"),
    ],
    measure=None,
    measure_alone=measure,
    needs="nothing",
    full=Load(runs=1, count=5),
    smoke=Load(runs=1, count=1),
)
