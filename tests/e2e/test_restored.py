"""A cluster whose database is lost and restored from a backup while its agents run on."""

from __future__ import annotations

from pathlib import Path

import pytest
from tests.e2e.cluster import Cluster, until
from tests.e2e.conftest import running
from tests.e2e.faults import Held
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


def go_back(cluster: Cluster, backup: Path) -> None:
    """Let a master lead that has a new database, restored from a backup."""
    master = cluster.processes.pop("master")
    master.terminate()
    master.wait()
    again = cluster.root / "db" / "again"
    move(cluster, "restore", backup, again)
    cluster.master_options = ("--db-data-dir", str(again))
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
        go_back(cluster, backup)
        assert cluster.state(before) == "COMPLETED"
        after = cluster.submit(config("true"), {})
        assert cluster.wait(after) == "COMPLETED"
        assert after == before + 1, "what followed the backup is not there any more"


def test_work_from_before_the_backup_continues_and_later_work_is_ended() -> None:
    with running() as cluster:
        backup, data = cluster.root / "backup", cluster.root / "db" / "pg"
        kept = Held(cluster, "kept")
        kept.began()
        move(cluster, "backup", backup, data)
        lead_again(cluster)
        later = Held(cluster, "later")
        later.began()
        go_back(cluster, backup)
        until(lambda: not later.processes(), what="the end of what nobody knows of")
        after = Held(cluster, "after")
        after.began()
        assert after.end() == "COMPLETED"
        assert kept.end() == "COMPLETED"
        assert kept.runs() == [1]
        assert "the last line of run 1" in kept.text()


def test_work_that_ended_after_the_backup_runs_again() -> None:
    """Its end is lost with the database, and so is what it did."""
    with running() as cluster:
        backup, data = cluster.root / "backup", cluster.root / "db" / "pg"
        ended = Held(cluster, "ended")
        ended.began()
        move(cluster, "backup", backup, data)
        assert ended.end() == "COMPLETED"
        (ended.place / "go").unlink()
        go_back(cluster, backup)
        ended.began(2)
        assert ended.end() == "COMPLETED"
        assert ended.runs() == [1, 2]
        assert ended.trial["restarts"] == 0
