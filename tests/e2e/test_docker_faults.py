"""What users see of Docker's faults: the reason in the log, no lost work, no lost slot."""

from __future__ import annotations

import os
import signal
from collections.abc import Iterator
from typing import Any

import pytest
from tests.docker_daemon import Daemon
from tests.e2e.cluster import Cluster, until
from tests.e2e.docker_cluster import config, docker_cluster
from tests.registry import registry

pytestmark = [
    pytest.mark.e2e,
    pytest.mark.slow,
    pytest.mark.docker,
    pytest.mark.kill,
    pytest.mark.xdist_group("docker"),
]

STEPS = """
import time
from determined import core
with core.init() as context:
    for step in range(1, 21):
        context.train.report_validation_metrics(step, {"loss": 1.0 / step})
        print("step", step, flush=True)
        time.sleep(0.05)
"""
STOPS_ONCE = """
import os, time
from determined import core
with core.init() as context:
    print("run", os.environ["DET_TRIAL_RUN_ID"], "is up", flush=True)
    if os.environ["DET_TRIAL_RUN_ID"] == "1":
        time.sleep(600)
    context.train.report_validation_metrics(1, {"loss": 1.0})
"""


@pytest.fixture(scope="module")
def cluster(docker: Daemon) -> Iterator[Cluster]:
    """One agent of one slot."""
    with docker_cluster(docker, agents=1) as made:
        yield made


@pytest.fixture(autouse=True)
def no_slot_is_lost(cluster: Cluster) -> Iterator[None]:
    yield
    until(lambda: slots_in_use(cluster) == 0, what="the return of every slot")


def slots_in_use(cluster: Cluster) -> int:
    agents = cluster.get("/api/v1/agents")["agents"]
    return sum(bool(slot.get("container")) for a in agents for slot in a["slots"].values())


def trial_of(cluster: Cluster, experiment: int) -> dict[str, Any]:
    [trial] = until(lambda: cluster.trials(experiment), what="a trial")
    return dict(trial)


def said(cluster: Cluster, experiment: int, text: str) -> bool:
    """Whether the log of its trial has a text by now."""
    path = f"/api/v1/trials/{trial_of(cluster, experiment)['id']}/logs"
    answer = cluster.session().get(path, params={"limit": 1000}).text
    return text in answer


def test_a_daemon_that_is_killed_costs_a_trial_nothing(cluster: Cluster, docker: Daemon) -> None:
    experiment = cluster.submit(config("python3 t.py"), {"t.py": STEPS})
    until(lambda: said(cluster, experiment, "step 2"), what="the second step")
    docker.kill()
    docker.start()
    assert cluster.wait(experiment) == "COMPLETED"
    trial = trial_of(cluster, experiment)
    assert (trial["totalBatchesProcessed"], trial["restarts"]) == (20, 0)
    lines = cluster.text(trial["id"]).splitlines()
    assert [line for line in lines if line.startswith("step ")] == [
        f"step {n}" for n in range(1, 21)
    ]


def test_a_trial_starts_when_a_daemon_that_hangs_wakes(cluster: Cluster, docker: Daemon) -> None:
    with docker.hanging():
        experiment = cluster.submit(config("python3 t.py"), {"t.py": STEPS})
        until(lambda: slots_in_use(cluster) == 1, what="a container on its slot")
    assert cluster.wait(experiment) == "COMPLETED"
    assert trial_of(cluster, experiment)["restarts"] == 0


def test_a_container_that_went_with_the_daemon_starts_again_and_no_restart_is_counted(
    cluster: Cluster, docker: Daemon
) -> None:
    experiment = cluster.submit(config("python3 t.py"), {"t.py": STOPS_ONCE})
    until(lambda: said(cluster, experiment, "run 1 is up"), what="the first run")
    pid = int(docker.run("inspect", "-f", "{{.State.Pid}}", *docker.containers()))
    docker.kill()
    os.kill(pid, signal.SIGKILL)
    docker.start()
    assert cluster.wait(experiment) == "COMPLETED"
    trial = trial_of(cluster, experiment)
    assert trial["restarts"] == 0
    assert "Docker's daemon was down: set live-restore" in cluster.text(trial["id"])


def test_a_container_that_someone_removes_starts_again(cluster: Cluster, docker: Daemon) -> None:
    experiment = cluster.submit(config("python3 t.py"), {"t.py": STOPS_ONCE})
    until(lambda: said(cluster, experiment, "run 1 is up"), what="the first run")
    docker.run("rm", "-f", *docker.containers())
    assert cluster.wait(experiment) == "COMPLETED"
    trial = trial_of(cluster, experiment)
    assert trial["restarts"] == 0
    assert "the container is gone" in cluster.text(trial["id"])


def test_a_container_that_ends_while_its_agent_is_down_has_ended(
    cluster: Cluster, docker: Daemon
) -> None:
    experiment = cluster.submit(config("python3 t.py"), {"t.py": STEPS})
    until(lambda: said(cluster, experiment, "step 2"), what="the second step")
    cluster.kill("agent-0")
    until(lambda: docker.run("ps", "-q") == "", what="the end of the container")
    cluster.start_agent("agent-0")
    assert cluster.wait(experiment) == "COMPLETED"
    trial = trial_of(cluster, experiment)
    assert (trial["totalBatchesProcessed"], trial["restarts"]) == (20, 0)
    assert "step 20" in cluster.text(trial["id"])


def test_an_experiment_is_killed_in_the_middle_of_a_pull(cluster: Cluster) -> None:
    with registry() as images, images.holding():
        settings = config("true", environment={"image": images.image})
        experiment = cluster.submit(settings, {"t.py": ""})
        until(lambda: images.pulls == 1, what="the download of a layer")
        cluster.post(f"/api/v1/experiments/{experiment}/kill")
        assert cluster.wait(experiment) == "CANCELED"
        until(lambda: slots_in_use(cluster) == 0, what="the return of the slot")


def test_a_wrong_registry_password_is_reported_and_not_shown(cluster: Cluster) -> None:
    with registry() as images:
        images.password = "sesame"
        auth = {"username": "alice", "password": "wrong-word", "serveraddress": images.host}
        environment = {"image": images.image, "registry_auth": auth}
        experiment = cluster.submit(config("true", environment=environment), {"t.py": ""})
        assert cluster.wait(experiment) == "ERROR"
        text = cluster.text(trial_of(cluster, experiment)["id"])
    assert f"the image {images.image} could not be pulled" in text
    assert "see environment.registry_auth" in text
    assert "wrong-word" not in text
