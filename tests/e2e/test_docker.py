"""A whole cluster whose tasks run in Docker: trials, gangs, and what goes wrong with them."""

from __future__ import annotations

import json
import os
import socket
import subprocess
import sys
from collections.abc import Iterator

import pytest
from tests.docker_daemon import Daemon
from tests.e2e import scripts
from tests.e2e.cluster import Cluster, until
from tests.e2e.docker_cluster import config, docker_cluster, gang
from tests.e2e.ports import first_port
from tests.harness.conftest import SOURCE

pytestmark = [
    pytest.mark.e2e,
    pytest.mark.slow,
    pytest.mark.docker,
    pytest.mark.xdist_group("docker"),
]

DIES = """
import sys, time, determined as det
rank = det.get_cluster_info().container_rank
print("rank", rank, "is up", flush=True)
if rank == 1:
    print("rank 1 dies of this", flush=True)
    sys.exit(3)
time.sleep(600)
"""


SSH = """
import os, subprocess, determined as det
from determined.launch import _peers, _ssh
info = det.get_cluster_info()
open("/run/determined/who", "w").write(info.agent_id)
if info.container_rank > 0:
    raise SystemExit(_ssh.serve(info))
_ssh.wait_for_servers(info)
for name in _peers.ssh_names(info)[1:]:
    command = ["ssh", *_peers.ssh_port_options(), name]
    told = "echo this came to $(cat /run/determined/who) over $SSH_CONNECTION; exit 7"
    code = subprocess.run([*command, told]).returncode
    print("ssh to", name, "ended with", code, flush=True)
"""


@pytest.fixture(scope="module")
def cluster(docker: Daemon) -> Iterator[Cluster]:
    """Three agents of one slot each, on one daemon."""
    with docker_cluster(docker, agents=3) as made:
        yield made


def test_a_trial_in_a_container_trains_saves_and_survives_its_agent(cluster: Cluster) -> None:
    """The agent is killed in the middle of it, and finds the container again."""
    ledger = cluster.root / "ledger"
    ledger.mkdir(mode=0o777)
    environment = {"environment_variables": ["LEDGER=/ledger", "STEP_S=0.1"]}
    submitted = config(
        "python3 t.py",
        environment=environment,
        hyperparameters={"quality": 0.5},
        bind_mounts=[{"host_path": str(ledger), "container_path": "/ledger"}],
    )
    experiment = cluster.submit(submitted, {"t.py": scripts.LEDGER})
    until(lambda: any("reported" in p.read_text() for p in ledger.glob("*.jsonl")))
    [trial] = cluster.trials(experiment)
    for name in ("agent-0", "agent-1", "agent-2"):
        cluster.kill(name)
        cluster.start_agent(name)
    assert cluster.wait(experiment) == "COMPLETED"
    lines = [json.loads(line) for line in next(ledger.glob("*.jsonl")).read_text().splitlines()]
    assert [line["started"] for line in lines if "started" in line] == [0]
    assert [line["reported"] for line in lines if "reported" in line] == list(range(1, 17))
    assert {line["run"] for line in lines} == {1}
    [trial] = cluster.trials(experiment)
    assert trial["totalBatchesProcessed"] == 16


def test_a_gang_of_two_containers_meets_and_is_ranked_by_agent_id(cluster: Cluster) -> None:
    experiment = cluster.submit(*gang(scripts.RANKS))
    assert cluster.wait(experiment) == "COMPLETED"
    [trial] = cluster.trials(experiment)
    lines = list(cluster.lines(trial["id"]))
    gathered = [line for line in lines if "gathered" in line["log"]]
    ranks = {line["rankId"]: line["agentId"] for line in gathered}
    assert ranks.keys() == {0, 1}
    assert ranks[0] < ranks[1]
    reached = [line for line in lines if "all 2 containers reach each other" in line["log"]]
    assert {line["agentId"] for line in reached} == set(ranks.values())


def test_containers_of_one_machine_reach_each_other_over_ssh(cluster: Cluster) -> None:
    """As the horovod and deepspeed launchers do: workers serve, and end with the chief."""
    settings, files = gang(SSH, slots=3)
    experiment = cluster.submit({**settings, "entrypoint": "python3 t.py"}, files)
    assert cluster.wait(experiment) == "COMPLETED"
    [trial] = cluster.trials(experiment)
    text = cluster.text(trial["id"])
    for rank in (1, 2):
        assert f"this came to agent-{rank} over" in text
        assert f"ssh to container-{rank} ended with 7" in text


def test_one_container_that_dies_ends_the_gang_with_its_log_first(cluster: Cluster) -> None:
    experiment = cluster.submit(*gang(DIES))
    assert cluster.wait(experiment) == "ERROR"  # the other container would stay for ten minutes
    [trial] = cluster.trials(experiment)
    text = cluster.text(trial["id"])
    assert "rank 1 dies of this" in text
    told = text.index("non-zero exit code: 3")
    assert text.index("rank 1 dies of this") < told, text


def test_a_port_that_somebody_else_has_is_named_before_the_first_step(cluster: Cluster) -> None:
    port = first_port("C10D_PORT")
    with socket.create_server(("", port)):
        experiment = cluster.submit(*gang(scripts.RANKS))
        assert cluster.wait(experiment) == "ERROR"
    [trial] = cluster.trials(experiment)
    text = cluster.text(trial["id"])
    assert f"port {port} (C10D_PORT) of the chief's machine" in text
    assert "Address already in use" in text
    assert "gathered" not in text


def test_an_image_that_is_not_to_be_had_ends_the_trial_with_the_reason(cluster: Cluster) -> None:
    missing = "127.0.0.1:9/nothing:1"
    submitted = config("true", environment={"image": missing})
    experiment = cluster.submit(submitted, {"t.py": ""})
    assert cluster.wait(experiment) == "ERROR"
    [trial] = cluster.trials(experiment)
    text = cluster.text(trial["id"])
    assert f"pulling image {missing}" in text
    assert f"the image {missing} could not be pulled" in text
    assert "check that the registry runs" in text


def test_tasks_run_as_the_cluster_says_and_find_their_files(cluster: Cluster) -> None:
    entrypoint = "id -u; pwd; ls; python3 -c 'import determined; print(determined.__file__)'"
    experiment = cluster.submit(config(entrypoint), {"mine.txt": "x"})
    assert cluster.wait(experiment) == "COMPLETED"
    [trial] = cluster.trials(experiment)
    lines = cluster.text(trial["id"]).splitlines()
    for line in ("0", "/run/determined/workdir", "mine.txt"):
        assert line in lines
    assert "/opt/determined/harness/determined/__init__.py" in lines
    assert os.listdir(cluster.root / "storage") is not None


OWN = """
import getpass, os, pathlib
import determined as det
from determined import core
print("is", os.getuid(), os.getgid(), getpass.getuser(), os.environ["HOME"], flush=True)
print("owns", os.stat(".").st_uid, os.stat("mine.txt").st_uid, flush=True)
with core.init() as context:
    context.train.report_validation_metrics(1, {"loss": 1.0})
    with context.checkpoint.store_path({"steps_completed": 1}) as (path, uuid):
        (path / "weights").write_text("x")
"""


def test_a_workspaces_agent_user_owns_what_its_tasks_do(cluster: Cluster) -> None:
    """The image knows no such user: name and home come from the link."""
    group = {"agentUid": 54321, "agentGid": 54322, "agentUser": "ada", "agentGroup": "crew"}
    made = cluster.post("/api/v1/workspaces", {"name": "linked", "agentUserGroup": group})
    workspace = made["workspace"]["id"]
    cluster.post(f"/api/v1/workspaces/{workspace}/projects", {"name": "p"})
    hers = {"type": "shared_fs", "host_path": str(cluster.root / "hers"), "create": True}
    settings = config("python3 t.py", workspace="linked", project="p", checkpoint_storage=hers)
    experiment = cluster.submit(settings, {"t.py": OWN, "mine.txt": "x"})
    assert cluster.wait(experiment) == "COMPLETED"
    [trial] = cluster.trials(experiment)
    lines = cluster.text(trial["id"]).splitlines()
    assert "is 54321 54322 ada /run/determined/workdir" in lines
    assert "owns 54321 54321" in lines
    [saved] = (cluster.root / "hers").glob("*/weights")
    assert (saved.stat().st_uid, saved.stat().st_gid) == (54321, 54322)


def test_a_shell_is_entered_in_its_container(cluster: Cluster) -> None:
    """An image with OpenSSH's server, and the master's tunnel."""
    environment = {"environment_variables": ["MINE=a b"]}
    started = cluster.post("/api/v1/shells", {"config": {"environment": environment}})
    shell = started["shell"]["id"]
    until(lambda: is_ready(cluster, shell), what="its server")
    key = cluster.root / "shell-key"
    key.write_text(started["shell"]["privateKey"])
    key.chmod(0o600)
    tunnel = f"{sys.executable} -m determined.cli.tunnel {cluster.address} %h"
    options = ("IdentitiesOnly=yes", "StrictHostKeyChecking=no", "UserKnownHostsFile=/dev/null")
    command = ["ssh", "-F", "none", "-i", str(key), "-o", f"ProxyCommand={tunnel}"]
    for option in (*options, "LogLevel=ERROR", "BatchMode=yes"):
        command += ["-o", option]
    script = "echo $MINE; python3 -c 'import determined as d; print(d.__file__)'; id -u"
    said = subprocess.run(
        [*command, f"root@{shell}", script],
        env={**os.environ, "PYTHONPATH": str(SOURCE)},
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        timeout=120,
        check=False,
    )
    assert said.returncode == 0, said.stderr + cluster.task_text(shell)
    assert said.stdout == "a b\n/opt/determined/harness/determined/__init__.py\n0\n"
    cluster.post(f"/api/v1/shells/{shell}/kill")
    until(lambda: is_over(cluster, "shell", shell), what="its end")


def test_an_image_without_jupyterlab_is_reported(cluster: Cluster) -> None:
    notebook = cluster.post("/api/v1/notebooks", {"config": {}})["notebook"]["id"]
    until(lambda: is_over(cluster, "notebook", notebook), what="its end")
    found = cluster.get(f"/api/v1/notebooks/{notebook}")["notebook"]
    assert found["exitStatus"].endswith("127 (exit code 127)")
    assert "-m pip install jupyterlab), or in the image of containers" in cluster.task_text(
        notebook
    )


def is_ready(cluster: Cluster, task_id: str) -> bool:
    allocations = cluster.get(f"/api/v1/tasks/{task_id}")["task"]["allocations"]
    return any(a.get("isReady") for a in allocations)


def is_over(cluster: Cluster, kind: str, task_id: str) -> bool:
    found = cluster.get(f"/api/v1/{kind}s/{task_id}")[kind]
    return bool(found["state"] == "STATE_TERMINATED")
