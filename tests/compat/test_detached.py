"""The published package's `core_v2` reports to our master from outside of the cluster."""

from __future__ import annotations

import sys
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import pytest
from tests.compat.client import Client
from tests.e2e.cluster import PASSWORD, Cluster, until

pytestmark = [pytest.mark.compat, pytest.mark.slow, pytest.mark.xdist_group("compat")]


def test_two_runs_of_a_program_outside_are_one_trial(
    client: Client, cluster: Cluster, tmp_path: Path
) -> None:
    found: dict[str, Any] = client.script("sdk_detached.py", "admin", PASSWORD, tmp_path)
    experiment = cluster.get(f"/api/v1/experiments/{found['experiment']}")["experiment"]
    assert (experiment["name"], experiment["unmanaged"]) == ("from outside", True)
    until(lambda: cluster.state(found["experiment"]) == "COMPLETED", what="the end")
    trial = cluster.get(f"/api/v1/trials/{found['trial']}")["trial"]
    assert (trial["state"], trial["totalBatchesProcessed"]) == ("STATE_COMPLETED", 4)
    assert trial["hparams"] == {"lr": 0.5}
    assert trial["checkpointCount"] == 2
    first, second = found["runs"]
    assert first is None
    assert second != found["uuid"]  # the second run began from what the first had saved
    assert trial["bestCheckpoint"]["uuid"] == found["uuid"]
    assert (tmp_path / second / "w").read_text() == "1"
    texts = [line["log"].strip() for line in cluster.lines(found["trial"])]
    assert {"run 0", "run 1"} <= set(texts)


LATE_S = 15.0
"""Below any time that a program could wait for: 20 s for a connection, 60 s for a heartbeat."""


@pytest.mark.parametrize("package", ["published", "ours"])
def test_programs_outside_end_without_waiting_though_several_share_a_machine(
    client: Client, cluster: Cluster, tmp_path: Path, package: str
) -> None:
    python = client.python if package == "published" else Path(sys.executable)
    apart = Client(python, tmp_path, cluster.address)
    arguments = (cluster.address, "admin", PASSWORD, tmp_path)
    with ThreadPoolExecutor(3) as programs:
        runs = [programs.submit(apart.script, "sdk_detached_end.py", *arguments) for _ in range(3)]
        ends = [(run.result(), time.time()) for run in runs]
    for end, ended_at in ends:
        assert end["close_s"] < LATE_S
        assert ended_at - end["closed_at"] < LATE_S
        trial = cluster.get(f"/api/v1/trials/{end['trial']}")["trial"]
        assert trial["state"] == "STATE_COMPLETED", "the end is stored before the program ends"
