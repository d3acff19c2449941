"""The calls of a cloud that a master makes which has nothing to do for its machines."""

from __future__ import annotations

import time
from collections import Counter

from tests.e2e.cluster import until

from bench.cloud import cloud_cluster
from bench.figure import Figure, Limit, Load, Measured

POOLS = 2


def measure(load: Load) -> Measured:
    """Count for `seconds` seconds what EC2 is asked, once each pool has listed its machines."""
    with cloud_cluster(pools=POOLS) as (_, ec2):
        until(lambda: len(ec2.calls("DescribeInstances")) >= POOLS, what="a first listing")
        before, since = len(ec2.requests), time.monotonic()
        time.sleep(load.seconds)
        calls = ec2.requests[before:]
        passed_s = time.monotonic() - since
    names = Counter(call.get("Action", "") for call in calls)
    return Measured([len(calls) / passed_s], {"pools": POOLS, "calls": dict(names)})


FIGURE = Figure(
    name="cloud_calls",
    limits=[Limit("calls", "calls/s", 0.1, "at_most", judged="count")],
    measure=None,
    measure_alone=measure,
    needs="nothing",
    full=Load(runs=1, seconds=180.0),
    smoke=Load(runs=1, seconds=18.0),
)
