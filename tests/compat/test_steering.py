"""`det` 0.38.1 against our master: creating, waiting, pausing, cancelling and killing."""

from __future__ import annotations

from pathlib import Path

import pytest
from tests.compat.client import MODEL, Client
from tests.compat.conftest import created
from tests.e2e.cluster import Cluster, until

pytestmark = [pytest.mark.compat, pytest.mark.slow, pytest.mark.xdist_group("compat")]


def reports(cluster: Cluster, experiment: int) -> int:
    """The steps that the experiment's trial has reported."""
    trials = cluster.trials(experiment)
    return int(trials[0]["totalBatchesProcessed"]) if trials else 0


def test_a_paused_experiment_is_activated_paused_resumed_and_killed(
    client: Client, cluster: Cluster, endless: Path
) -> None:
    experiment = created(client.det("experiment", "create", endless, MODEL, "--paused"))
    assert cluster.state(experiment) == "PAUSED"
    client.det("experiment", "activate", experiment)
    until(lambda: reports(cluster, experiment) > 2, what="steps")
    client.det("experiment", "pause", experiment)
    until(lambda: cluster.trials(experiment)[0]["checkpointCount"] == 2, what="a checkpoint")
    waited = client.det("experiment", "wait", experiment, "--polling-interval", 1, code=1)
    assert "PAUSED" in waited.err.upper()
    before = reports(cluster, experiment)
    client.det("experiment", "activate", experiment)
    until(lambda: "resumed at" in cluster_log(cluster, experiment), what="another run")
    until(lambda: reports(cluster, experiment) > before, what="more steps")
    client.det("experiment", "kill", experiment)
    assert cluster.wait(experiment) == "CANCELED"
    client.det("experiment", "kill", experiment)  # again changes nothing
    assert cluster.state(experiment) == "CANCELED"


def test_a_cancelled_experiment_saves_its_work_first(
    client: Client, cluster: Cluster, endless: Path
) -> None:
    experiment = created(client.det("experiment", "create", endless, MODEL))
    until(lambda: reports(cluster, experiment) > 2, what="steps")
    client.det("experiment", "cancel", experiment)
    client.det("experiment", "wait", experiment, "--polling-interval", 1, code=1)
    assert cluster.state(experiment) == "CANCELED"
    assert cluster.trials(experiment)[0]["checkpointCount"] == 2


def test_a_killed_trial_ends_its_single_experiment(
    client: Client, cluster: Cluster, endless: Path
) -> None:
    experiment = created(client.det("experiment", "create", endless, MODEL))
    [trial] = until(lambda: cluster.trials(experiment), what="a trial")
    client.det("trial", "kill", trial["id"])
    assert cluster.wait(experiment) == "CANCELED"


def test_a_killed_search_is_continued(client: Client, cluster: Cluster, endless: Path) -> None:
    text = endless.read_text().replace("name: single", "name: grid")
    counted = text.replace("steps: 100000", "steps: {type: categorical, vals: [100000, 100001]}")
    endless.write_text(counted)
    experiment = created(client.det("experiment", "create", endless, MODEL))
    until(lambda: len(cluster.trials(experiment)) == 2, what="two trials")
    client.det("experiment", "kill", experiment)
    assert cluster.wait(experiment) == "CANCELED"
    client.det("experiment", "continue", experiment)  # sends an override config all the same
    assert cluster.state(experiment) not in ("CANCELED", "COMPLETED", "ERROR")
    client.det("experiment", "kill", experiment)
    assert cluster.wait(experiment) == "CANCELED"


def test_mistakes_are_described_in_words(client: Client, tmp_path: Path) -> None:
    text = (MODEL / "const.yaml").read_text()
    wrong = tmp_path / "wrong.yaml"
    wrong.write_text(text + "resources: {slots_per_trial: 99}\n")
    said = client.det("experiment", "create", wrong, MODEL, code=1).err
    assert "slots requested exceeds cluster capacity" in said
    wrong.write_text(text + "resources: {resource_pool: nowhere}\n")
    said = client.det("experiment", "create", wrong, MODEL, code=1).err
    assert "nowhere does not exist or is not available to workspace" in said
    wrong.write_text(text.replace("metric: loss", "metrics: loss"))
    said = client.det("experiment", "create", wrong, MODEL, code=1).err
    assert "invalid experiment configuration" in said
    assert "experiment '99999' not found" in client.det("e", "describe", 99999, code=1).err


def cluster_log(cluster: Cluster, experiment: int) -> str:
    """What the experiment's trial has printed so far."""
    [trial] = cluster.trials(experiment)
    answer = cluster.session().get(f"/api/v1/trials/{trial['id']}/logs")
    return answer.text
