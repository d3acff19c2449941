"""`det deploy local` with the real servers: an evening's stop loses nothing."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path

import pytest
from tests.e2e.cluster_api import until
from tests.free_ports import free_port

pytestmark = [pytest.mark.e2e, pytest.mark.slow, pytest.mark.xdist_group("local_cluster")]
COUNTS = '''
"""Counts to 60, and saves the count when it is asked to leave."""
import pathlib
import time

import determined as det
from determined import core

with core.init(tensorboard_mode=core.TensorboardMode.MANUAL) as context:
    count, latest = 0, det.get_cluster_info().latest_checkpoint
    if latest:
        with context.checkpoint.restore_path(latest) as path:
            count = int((path / "count").read_text())
    print("begins at", count, flush=True)
    while count < 60 and not pathlib.Path(GO).exists():
        time.sleep(0.05)
        count += 1
        if context.preempt.should_preempt():
            with context.checkpoint.store_path({"steps_completed": count}) as (path, uuid):
                (path / "count").write_text(str(count))
            print("saved at", count, flush=True)
            raise SystemExit
        count = min(count, 50)
    context.train.report_validation_metrics(60, {"loss": 0.0})
'''
CONFIG = """\
name: counts
entrypoint: python3 train.py
searcher: {name: single, metric: loss}
max_restarts: 0
"""


class Local:
    """`det` for one local cluster, in directories of its own."""

    def __init__(self, root: Path) -> None:
        self.root = root
        self.port = free_port()
        self.env = {
            **{k: v for k, v in os.environ.items() if not k.startswith("DET_")},
            "HOME": str(root),
            "DET_DEPLOY_DIR": str(root / "deploy"),
            "DET_MASTER": f"http://127.0.0.1:{self.port}",
        }

    def det(self, *words: object, status: int = 0) -> str:
        """What a command prints, which must end with this status."""
        done = subprocess.run(
            [sys.executable, "-m", "determined.cli", *map(str, words)],
            env=self.env,
            stdin=subprocess.DEVNULL,
            capture_output=True,
            text=True,
            timeout=240,
            check=False,
        )
        assert done.returncode == status, (words, done.stdout, done.stderr)
        return done.stdout

    def local(self, *words: object) -> str:
        return self.det("deploy", "local", *words, "--cluster-name", "t")

    def logs(self, trial: int = 1) -> str:
        return self.det("trial", "logs", trial)


@pytest.fixture
def local() -> Iterator[Local]:
    root = Path(tempfile.mkdtemp(prefix="det-local-", dir="/tmp"))
    root.chmod(0o711)  # the database runs as another user
    made = Local(root)
    (root / "model").mkdir()
    go = f"GO = {str(root / 'go')!r}\n"
    (root / "model" / "train.py").write_text(go + COUNTS)
    (root / "config.yaml").write_text(CONFIG)
    words = ("--agents", 2, "--master-port", made.port, "--no-gpu", "--task-account", "root")
    try:
        made.local("cluster-up", *(words if os.geteuid() == 0 else words[:5]))
        yield made
    finally:
        made.local("cluster-down")
        shutil.rmtree(root, ignore_errors=True)


def begun(local: Local) -> None:
    local.det("experiment", "create", local.root / "config.yaml", local.root / "model")
    until(lambda: "begins at 0" in local.logs(), what="the first line of the trial")


def restarts(local: Local) -> str:
    rows = local.det("experiment", "list-trials", 1, "--csv").splitlines()
    return rows[-1].rpartition(",")[2]


def test_a_trial_saves_before_the_stop_and_continues_after_the_next_start(local: Local) -> None:
    begun(local)
    said = local.local("cluster-down")
    assert "waiting until 1 trial saved their work" in said
    assert "did not" not in said
    up = local.local("cluster-up")
    assert f"is up at http://127.0.0.1:{local.port}" in up  # it keeps its port
    assert "logged in as determined" in up
    assert "2 with 2 slots" in up  # as many agents as before
    (local.root / "go").touch()
    assert "is COMPLETED" in local.det("experiment", "wait", 1, "--polling-interval", 0.1)
    log = local.logs()
    saved = log.split("saved at ")[1].split()[0]
    assert f"begins at {saved}" in log
    assert restarts(local) == "0"


def test_kept_tasks_run_while_the_cluster_is_down(local: Local) -> None:
    begun(local)
    assert "trial" not in local.local("cluster-down", "--keep-tasks")
    local.local("cluster-up")
    (local.root / "go").touch()
    assert "is COMPLETED" in local.det("experiment", "wait", 1, "--polling-interval", 0.1)
    log = local.logs()
    assert (log.count("begins at"), "saved at" in log) == (1, False)
    assert restarts(local) == "0"


def test_a_cluster_keeps_its_security_and_asks_before_it_changes(local: Local) -> None:
    roles = local.root / "roles.yaml"
    roles.write_text("security: {authz: {type: rbac}}\n")
    no_effect = "Roles have no effect on this cluster"
    assert no_effect in local.det("rbac", "my-permissions")
    local.local("cluster-down")
    up = ("deploy", "local", "cluster-up", "--cluster-name", "t", "--master-config-path", roles)
    asked = local.det(*up, status=1)  # nobody answers
    assert 'security.authz: unset becomes {"type": "rbac"}' in asked
    local.det(*up, "--yes")
    assert no_effect not in local.det("rbac", "my-permissions")
    local.local("cluster-down")
    local.local("cluster-up")
    assert no_effect not in local.det("rbac", "my-permissions")


def test_an_agent_that_was_stopped_alone_takes_work_again(local: Local) -> None:
    begun(local)
    assert "saved their work" in local.local("agent-down", "--all")
    up = ("agent-up", "127.0.0.1", "--master-port", local.port, "--no-gpu")
    local.local(*up, "--agent-name", "t-agent-0")
    (local.root / "go").touch()
    assert "is COMPLETED" in local.det("experiment", "wait", 1, "--polling-interval", 0.1)
    assert restarts(local) == "0"
