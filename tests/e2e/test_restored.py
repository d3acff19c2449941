"""A cluster whose database is lost and restored from a backup while its agents run on."""

from __future__ import annotations

from pathlib import Path

import pytest
from tests.e2e.cluster import Cluster, until
from tests.e2e.conftest import running
from tests.e2e.test_life import config

pytestmark = [pytest.mark.e2e, pytest.mark.slow]


def move(cluster: Cluster, command: str, backup: Path, data: Path) -> None:
    """Save a database, or restore it into an empty one."""
    done = cluster.run_master(command, str(backup), "--db-data-dir", str(data))
    assert done.returncode == 0, done.stderr


def lead_again(cluster: Cluster) -> None:
    """Let another master lead the same agents."""
    cluster.kill("master")
    cluster.start_master()
    until(lambda: cluster.connected() == ["agent-0"], what="the agent")


def test_agents_that_run_on_obey_a_master_that_was_restored() -> None:
    """They have obeyed leads that the backup knows nothing of."""
    with running() as cluster:
        backup, data = cluster.root / "backup", cluster.root / "db" / "pg"
        before = cluster.submit(config("true"), {})
        assert cluster.wait(before) == "COMPLETED"
        move(cluster, "backup", backup, data)
        for _ in range(2):
            lead_again(cluster)
            lost = cluster.submit(config("true"), {})
            assert cluster.wait(lost) == "COMPLETED"
        master = cluster.processes.pop("master")
        master.terminate()
        master.wait()

        again = cluster.root / "db" / "again"
        move(cluster, "restore", backup, again)
        cluster.master_options = ("--db-data-dir", str(again))
        cluster.start_master()
        until(lambda: cluster.connected() == ["agent-0"], what="the agent")
        assert cluster.state(before) == "COMPLETED"
        after = cluster.submit(config("true"), {})
        assert cluster.wait(after) == "COMPLETED"
        assert after == before + 1, "what followed the backup is not there any more"
