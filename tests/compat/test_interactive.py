"""`det` 0.38.1 against our master: commands, notebooks, shells and TensorBoards."""

from __future__ import annotations

import os
import re
import shlex
import shutil
import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest
from tests.compat.client import Client, Said
from tests.compat.conftest import Finished
from tests.e2e.cluster import Cluster, until
from tests.environments import NotInstalled
from tests.interactive.conftest import install_tools

from determined.exec._servers import terminals

pytestmark = [pytest.mark.compat, pytest.mark.slow, pytest.mark.xdist_group("compat")]

NO_SLOTS = ("--config", "resources.slots=0")
READY_LIMIT_S = 60.0


@pytest.fixture
def started(cluster: Cluster) -> Iterator[list[tuple[str, str]]]:
    """Kinds and ids of what a test has started; gone at its end."""
    found: list[tuple[str, str]] = []
    yield found
    for kind, task_id in found:
        cluster.post(f"/api/v1/{kind}s/{task_id}/kill", {})
        reaches(cluster, kind, task_id, "TERMINATED")


@pytest.fixture
def tools(tmp_path: Path) -> tuple[str, ...]:
    """Options for a task that has JupyterLab and TensorBoard."""
    try:
        python = install_tools()
    except NotInstalled as reason:
        pytest.skip(f"JupyterLab and TensorBoard cannot be installed: {reason}")
    config = tmp_path / "tools.yaml"
    variable = f"DET_PYTHON_EXECUTABLE={python}"
    config.write_text(f"environment: {{environment_variables: ['{variable}']}}\n")
    return ("--config-file", str(config))


def reaches(cluster: Cluster, kind: str, task_id: str, state: str) -> None:
    until(
        lambda: cluster.get(f"/api/v1/{kind}s/{task_id}")[kind]["state"] == f"STATE_{state}",
        what=f"{state} of {kind} {task_id}",
    )


def id_of(said: Said) -> str:
    found = re.search(r"[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}", said.out)
    assert found, said
    return found[0]


def test_a_command_is_run_to_its_end(client: Client, tmp_path: Path) -> None:
    (tmp_path / "go.py").write_text("import sys; print('says', sys.argv[1:])")
    said = client.det("cmd", "run", *NO_SLOTS, "-c", tmp_path, "python3", "go.py", "-d")
    assert "|| says ['-d']" in said.out
    assert f"(id: {id_of(said)}" in said.out


def test_a_command_is_looked_at_and_killed(
    client: Client, cluster: Cluster, started: list[tuple[str, str]]
) -> None:
    task_id = id_of(client.det("cmd", "run", "-d", *NO_SLOTS, "sleep", "600"))
    started.append(("command", task_id))
    reaches(cluster, "command", task_id, "RUNNING")
    rows = {row["id"]: row for row in client.det("cmd", "list", "--csv").rows()}
    assert (rows[task_id]["state"], rows[task_id]["username"]) == ("RUNNING", "admin")
    described = client.det("cmd", "describe", task_id, "--json").json()
    assert described["workspaceName"] == "Uncategorized"
    client.det("cmd", "set", "priority", task_id, 9)
    config = client.det("cmd", "config", task_id[:9]).out
    assert "priority: 9" in config
    assert "- '600'" in config
    assert "have started" in client.det("cmd", "logs", task_id).out
    client.det("cmd", "kill", task_id[:9])
    reaches(cluster, "command", task_id, "TERMINATED")


def test_a_shell_is_opened_through_the_master(
    client: Client, started: list[tuple[str, str]]
) -> None:
    search = os.pathsep.join([os.environ["PATH"], "/usr/sbin"])
    if not shutil.which("sshd", path=search) or not shutil.which("ssh"):
        pytest.skip("there is no ssh or no sshd here (Debian's openssh-client, openssh-server)")
    if os.getuid() == 0:
        Path("/run/sshd").mkdir(exist_ok=True)
    terminal = () if terminals.are_given() else ("-T",)
    said = client.det("shell", "start", *NO_SLOTS, "--", *terminal, "echo now in $DET_TASK_TYPE")
    task_id = id_of(said)
    started.append(("shell", task_id))
    assert "now in SHELL" in said.out
    said = client.det("shell", "open", task_id, "--", *terminal, "echo in $DET_TASK_TYPE")
    assert "in SHELL" in said.out
    shown = client.det("shell", "show-ssh-command", task_id).out.strip().splitlines()[-1]
    done = subprocess.run(
        [*shlex.split(shown), *terminal, "echo again"],
        capture_output=True,
        text=True,
        stdin=subprocess.DEVNULL,
        env=client.environment,
        timeout=READY_LIMIT_S,
    )
    assert done.stdout.strip() == "again", done
    assert task_id in client.det("shell", "list", "-q").out


def test_a_notebook_starts(
    client: Client, started: list[tuple[str, str]], tools: tuple[str, ...]
) -> None:
    preview = client.det("notebook", "start", "--preview", *NO_SLOTS, *tools).out
    assert "DET_PYTHON_EXECUTABLE" in preview
    said = client.det("notebook", "start", "--no-browser", *NO_SLOTS, *tools)
    task_id = id_of(said)
    started.append(("notebook", task_id))
    assert f"/proxy/{task_id}" in said.out.replace("%2F", "/")
    assert task_id in client.det("notebook", "list", "-q").out


def test_a_tensorboard_is_started_and_listed(
    client: Client, finished: Finished, started: list[tuple[str, str]]
) -> None:
    task_id = id_of(client.det("tensorboard", "start", "-d", finished.id, "-t", finished.trial_id))
    started.append(("tensorboard", task_id))
    [row] = [r for r in client.det("tensorboard", "list", "--csv").rows() if r["id"] == task_id]
    assert str(finished.id) in row["experimentIds"]
    assert str(finished.trial_id) in row["trialIds"]
    nothing = client.det("tensorboard", "start", "-d", 999_999, code=1).err
    assert "experiment '999999' not found" in nothing
    assert task_id in client.det("tensorboard", "kill", task_id).out
