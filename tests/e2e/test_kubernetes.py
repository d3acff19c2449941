"""Experiments and interactive tasks in pods: of a cluster in memory, and of a real one."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from tests.covers import covers
from tests.e2e import scripts
from tests.e2e.cluster import ROOT, Cluster
from tests.e2e.cluster_api import until as until_in
from tests.e2e.command_line import det
from tests.e2e.pods import Pods, with_pools
from tests.e2e.pods_cluster import running_on

pytestmark = [pytest.mark.e2e, pytest.mark.slow]


@pytest.fixture(scope="module")
def cluster(pods: Pods) -> Iterator[Cluster]:
    with running_on(pods, lambda port: with_pools(pods.settings(port))) as made:
        yield made


@pytest.fixture
def place(pods: Pods, request: pytest.FixtureRequest) -> Path:
    """A directory that this test and its pods share."""
    made = pods.shared / str(abs(hash(request.node.name)))
    made.mkdir()
    return made


def config(pods: Pods, place: Path, steps: int = 4, **more: Any) -> dict[str, Any]:
    step_s = more.pop("step_s", 0.0)
    ledger, storage = place / "ledger", place / "checkpoints"
    ledger.mkdir(exist_ok=True)
    variables = [f"LEDGER={ledger}", f"STEPS={steps}", f"STEP_S={step_s}"]
    return {
        "name": "pods",
        "entrypoint": "python3 t.py",
        "searcher": {"name": "single", "metric": "loss"},
        "hyperparameters": {"quality": 0.5},
        "max_restarts": 0,
        "environment": {"environment_variables": variables, "image": pods.image},
        "checkpoint_storage": {"type": "directory", "container_path": str(storage)},
        **more,
    }


def ledger(place: Path) -> list[dict[str, Any]]:
    """What a trial noted, in all of its runs."""
    files = (place / "ledger").glob("*")
    return [json.loads(line) for file in files for line in file.read_text().splitlines()]


def submit_slow(
    cluster: Cluster, pods: Pods, place: Path, script: str = scripts.LEDGER, **wanted: Any
) -> int:
    """An experiment whose trial has reported its first step."""
    experiment = cluster.submit(config(pods, place, **wanted), {"t.py": script})
    until_in(
        lambda: any("reported" in line for line in ledger(place)),
        pods.limit_s,
        "a trial under way",
    )
    return experiment


def of(pods: Pods, experiment: int) -> list[dict[str, Any]]:
    """The pods of an experiment."""
    label = "determined.ai/experiment_id"
    return [p for p in pods.all() if p["metadata"]["labels"].get(label) == str(experiment)]


def kill(cluster: Cluster, pods: Pods, experiment: int) -> None:
    cluster.post(f"/api/v1/experiments/{experiment}/kill")
    assert cluster.wait(experiment, pods.limit_s) == "CANCELED"


def test_a_trial_runs_in_a_pod_and_leaves_nothing_behind(
    cluster: Cluster, pods: Pods, place: Path
) -> None:
    experiment = cluster.submit(config(pods, place), {"t.py": scripts.LEDGER})
    assert cluster.wait(experiment, pods.limit_s) == "COMPLETED"
    [trial] = cluster.trials(experiment)
    assert trial["totalBatchesProcessed"] == 4
    until_in(lambda: not pods.all(), pods.limit_s, "removed pods")


GANG = """
import determined as det
from determined import core
info = det.get_cluster_info()
rank, peers = info.container_rank, len(info.container_addrs)
meeting = core.DistributedContext(
    rank=rank, size=peers, local_rank=0, local_size=1, cross_rank=rank, cross_size=peers,
    chief_ip=info.container_addrs[0],
)
with core.init(distributed=meeting) as context:
    print("met", sorted(meeting.allgather(info.agent_id)), flush=True)
    if rank == 0:
        context.train.report_validation_metrics(1, {"loss": 1.0})
"""


def test_a_selector_that_no_node_has_is_named_and_the_trial_runs_where_one_has_it(
    cluster: Cluster, pods: Pods, place: Path
) -> None:
    wanted = config(pods, place)
    wanted["environment"]["pod_spec"] = {"spec": {"nodeSelector": {"gpu-type": "h100"}}}
    node = max(cluster.connected())
    pods.label(node, {"gpu-type": "a100"})
    experiment = cluster.submit(wanted, {"t.py": scripts.LEDGER})
    count = len(cluster.connected())
    said = f"{count} of {count} nodes lack" if count > 1 else "1 of 1 node lacks"

    def is_named() -> bool:
        return f"{said} the label gpu-type=h100" in det(cluster, "job", "why", str(experiment))

    until_in(is_named, pods.limit_s, "the missing label")
    assert of(pods, experiment) == []
    pods.label(node, {"gpu-type": "h100"})
    assert cluster.wait(experiment, pods.limit_s) == "COMPLETED"
    assert {p["spec"]["nodeName"] for p in of(pods, experiment)} <= {node}
    pods.label(node, {"gpu-type": None})


def test_a_full_quota_holds_no_slots_and_is_named(
    cluster: Cluster, pods: Pods, place: Path
) -> None:
    pods.set_quota({"pods": "0"})
    try:
        wanted = config(pods, place, resources={"slots_per_trial": 1, "priority": 99})
        experiment = cluster.submit(wanted, {"t.py": scripts.LEDGER})
        said = "allows 0 pods at all, and the task needs 1 pods"

        def is_named() -> bool:
            return f"quota few of namespace {pods.namespace} {said}" in det(
                cluster, "job", "why", str(experiment)
            )

        until_in(is_named, pods.limit_s, "the quota")
        [trial] = cluster.trials(experiment)
        assert trial["state"] == "STATE_QUEUED", trial
        assert of(pods, experiment) == []
    finally:
        pods.set_quota(None)
    assert cluster.wait(experiment, pods.limit_s) == "COMPLETED"


def test_a_gang_meets_across_pods(cluster: Cluster, pods: Pods, place: Path) -> None:
    nodes = sorted(cluster.connected())
    wanted = config(pods, place, resources={"slots_per_trial": 8})
    experiment = cluster.submit(wanted, {"t.py": GANG})
    assert cluster.wait(experiment, pods.limit_s) == "COMPLETED"
    [trial] = cluster.trials(experiment)
    met = f"met {(2 * nodes)[:2] if len(nodes) == 1 else nodes}"
    # the copy of a pod's log may come after its end
    until_in(
        lambda: cluster.task_text(trial["taskId"]).count(met) == 2,
        pods.limit_s,
        "what both said",
    )


def test_a_trial_continues_while_the_master_is_away_and_is_killed_by_the_next(
    cluster: Cluster, pods: Pods, place: Path
) -> None:
    experiment = submit_slow(cluster, pods, place, steps=10_000, step_s=0.2)
    [before] = [p["metadata"]["uid"] for p in of(pods, experiment)]
    cluster.kill("master")
    cluster.start_master()
    until_in(cluster.connected, pods.limit_s, "nodes")
    known = len(ledger(place))
    until_in(lambda: len(ledger(place)) > known + 2, pods.limit_s, "more of the trial")
    assert [p["metadata"]["uid"] for p in of(pods, experiment)] == [before]
    assert {line["run"] for line in ledger(place)} == {1}
    kill(cluster, pods, experiment)
    until_in(lambda: not pods.all(), pods.limit_s, "removed pods")


@covers("helm-and-kubernetes 15.missing 20.eviction")
def test_a_trial_whose_pod_is_drained_while_no_master_is_there_starts_again_uncounted(
    cluster: Cluster, pods: Pods, place: Path
) -> None:
    experiment = submit_slow(cluster, pods, place, steps=12, step_s=0.5)
    [pod] = of(pods, experiment)
    cluster.kill("master")
    pods.delete(pod)
    until_in(lambda: not of(pods, experiment), pods.limit_s, "the pod's end")
    cluster.start_master()
    assert cluster.wait(experiment, pods.limit_s) == "COMPLETED"
    [trial] = cluster.trials(experiment)
    assert (trial["totalBatchesProcessed"], trial["restarts"]) == (12, 0)


def test_a_paused_trial_saves_leaves_and_continues(
    cluster: Cluster, pods: Pods, place: Path
) -> None:
    experiment = submit_slow(cluster, pods, place, steps=10_000, step_s=0.1)
    cluster.post(f"/api/v1/experiments/{experiment}/pause")
    until_in(lambda: not of(pods, experiment), pods.limit_s, "removed pods")
    assert cluster.state(experiment) == "PAUSED"
    saved = [line["saved"] for line in ledger(place) if "saved" in line]
    cluster.post(f"/api/v1/experiments/{experiment}/activate")
    until_in(lambda: len(started(place)) == 2, pods.limit_s, "its next run")
    assert started(place) == [0, saved[-1]]
    kill(cluster, pods, experiment)


def started(place: Path) -> list[int]:
    """The step that each run began with."""
    return [line["started"] for line in ledger(place) if "started" in line]


@covers("helm-and-kubernetes 20.preemption")
def test_the_urgent_make_others_save_and_leave(cluster: Cluster, pods: Pods, place: Path) -> None:
    resources = {"slots_per_trial": 4}
    alone = scripts.LEDGER.replace(
        "core.init()", "core.init(distributed=core.DummyDistributedContext())"
    )
    usual = []
    for name in ("a", "b"):
        (place / name).mkdir()
        usual.append(
            submit_slow(
                cluster, pods, place / name, alone, steps=10_000, step_s=0.1, resources=resources
            )
        )
    urgent = config(pods, place, steps=2, resources={**resources, "priority": 90})
    experiment = cluster.submit(urgent, {"t.py": alone})
    assert cluster.wait(experiment, pods.limit_s) == "COMPLETED"
    left, kept = (place / name for name in ("a", "b"))
    until_in(lambda: len(started(left)) + len(started(kept)) == 3, pods.limit_s, "its next run")
    if len(started(kept)) == 2:
        left, kept = kept, left
    saved = [line["saved"] for line in ledger(left) if "saved" in line and line["run"] == 1]
    assert started(left) == [0, saved[-1]]
    assert started(kept) == [0]
    for one in usual:
        kill(cluster, pods, one)


def start(cluster: Cluster, pods: Pods, kind: str, **more: Any) -> dict[str, Any]:
    body = {"config": {"environment": {"image": pods.image}, **more}}
    answer: dict[str, Any] = cluster.post(f"/api/v1/{kind}s", body)[kind]
    return answer


def ended(cluster: Cluster, pods: Pods, kind: str, task: str) -> str:
    """How an interactive task ended."""

    def found() -> dict[str, Any]:
        told: dict[str, Any] = cluster.get(f"/api/v1/{kind}s/{task}")[kind]
        return told

    until_in(lambda: found()["state"] == "STATE_TERMINATED", pods.limit_s, "the end")
    return str(found()["exitStatus"])


def test_a_command_ends_as_its_program_does(cluster: Cluster, pods: Pods) -> None:
    script = 'echo on "$DET_AGENT_ID" as "$DET_TASK_TYPE"; exit 3'
    task = start(cluster, pods, "command", entrypoint=["sh", "-c", script])["id"]
    assert ended(cluster, pods, "command", task).endswith("(exit code 3)")
    said = [f"on {node} as COMMAND" for node in cluster.connected()]
    until_in(
        lambda: any(text in cluster.task_text(task) for text in said),
        pods.limit_s,
        "what it said",
    )
    event = "Started container determined-container"
    until_in(lambda: event in cluster.task_text(task), pods.limit_s, "what happened to it")


@pytest.mark.parametrize(
    ("kind", "program"), [("notebook", "jupyter-lab"), ("tensorboard", "tensorboard")]
)
def test_a_missing_program_of_an_image_is_reported(
    cluster: Cluster, pods: Pods, place: Path, kind: str, program: str
) -> None:
    if not pods.is_real:
        pytest.skip("pods of the cluster in memory have what this machine has")
    if kind == "tensorboard":
        experiment = cluster.submit(config(pods, place, steps=1), {"t.py": scripts.LEDGER})
        assert cluster.wait(experiment, pods.limit_s) == "COMPLETED"
        body = {"experimentIds": [experiment], "config": {"environment": {"image": pods.image}}}
        task = cluster.post("/api/v1/tensorboards", body)["tensorboard"]["id"]
    else:
        task = start(cluster, pods, kind)["id"]
    assert "127" in ended(cluster, pods, kind, task)
    until_in(
        lambda: f"this task needs {program}" in cluster.task_text(task),
        pods.limit_s,
        "what is missing",
    )


def test_a_shell_is_entered_in_its_pod(cluster: Cluster, pods: Pods, place: Path) -> None:
    if not pods.is_real:
        pytest.skip("pods of the cluster in memory have no file system of their own")
    if not shutil.which("ssh"):
        pytest.skip("there is no ssh here (Debian's openssh-client)")
    shell = start(cluster, pods, "shell", description="in a pod")
    until_in(lambda: is_ready(cluster, shell["id"]), pods.limit_s, "its server")
    key = place / "key"
    key.touch(mode=0o600)
    key.write_text(shell["privateKey"])
    tunnel = f"{sys.executable} -m determined.cli.tunnel {cluster.address} %h"
    options = ("IdentitiesOnly=yes", "StrictHostKeyChecking=no", "UserKnownHostsFile=/dev/null")
    command = ["ssh", "-F", "none", "-i", str(key), "-o", f"ProxyCommand={tunnel}"]
    for option in (*options, "LogLevel=ERROR", "BatchMode=yes"):
        command += ["-o", option]
    said = subprocess.run(
        [*command, f"root@{shell['id']}", "echo $DET_TASK_TYPE $DET_TASK_ID"],
        env={**os.environ, "PYTHONPATH": str(ROOT / "src")},
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        timeout=pods.limit_s,
    )
    assert said.returncode == 0, said.stderr + cluster.task_text(shell["id"])
    assert said.stdout.split() == ["SHELL", shell["id"]]
    cluster.post(f"/api/v1/shells/{shell['id']}/kill")
    ended(cluster, pods, "shell", shell["id"])


def is_ready(cluster: Cluster, task: str) -> bool:
    allocations = cluster.get(f"/api/v1/tasks/{task}")["task"]["allocations"]
    return any(a.get("isReady") for a in allocations)
