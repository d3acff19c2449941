"""The published package's `core_v2` reports to our master from outside of the cluster."""

from __future__ import annotations

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
