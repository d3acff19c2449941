"""Pages for users: their files are written and their commands run as they stand, in order."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path

import pytest
from tests.free_ports import free_port
from tests.pages import blocks

pytestmark = [pytest.mark.e2e, pytest.mark.slow, pytest.mark.xdist_group("local_cluster")]
DOWN = "det deploy local cluster-down"
LIMIT_S = 240


@pytest.fixture
def reader() -> Iterator[dict[str, str]]:
    """The environment of a person who follows the page in an empty directory."""
    root = Path(tempfile.mkdtemp(prefix="det-tutorial-", dir="/tmp"))
    root.chmod(0o711)  # the database runs as another user
    interpreters = root / "bin"
    interpreters.mkdir()
    (interpreters / "det").write_text(f'#!/bin/sh\nexec {sys.executable} -m determined.cli "$@"\n')
    (interpreters / "python3").write_text(f'#!/bin/sh\nexec {sys.executable} "$@"\n')
    for program in interpreters.iterdir():
        program.chmod(0o755)
    port = free_port()
    flags = f"--master-port {port} --cluster-name tutorial --no-gpu"
    env = {
        **{k: v for k, v in os.environ.items() if not k.startswith("DET_")},
        "PATH": f"{interpreters}:{os.environ['PATH']}",
        "HOME": str(root),
        "DET_DEPLOY_DIR": str(root / "deploy"),
        "DET_MASTER": f"http://127.0.0.1:{port}",
        "UP": flags + (" --task-account root" if os.geteuid() == 0 else ""),
    }
    try:
        yield env
    finally:
        run(env, "det deploy local cluster-down --cluster-name tutorial", check=False)
        shutil.rmtree(root, ignore_errors=True)


def run(env: dict[str, str], command: str, *, check: bool = True) -> str:
    done = subprocess.run(
        ["/bin/sh", "-ec", command],
        env=env,
        cwd=env["HOME"],
        capture_output=True,
        text=True,
        timeout=LIMIT_S,
        check=False,
    )
    assert not check or done.returncode == 0, (command, done.stdout, done.stderr)
    return done.stdout


def follow(env: dict[str, str], page: str) -> dict[str, str]:
    """Do what a page says, but stopping the cluster; what each command printed."""
    said: dict[str, str] = {}
    for kind, file, text in blocks(page):
        if not kind:
            continue  # output
        if file is not None:
            target = Path(env["HOME"], file)
            target.parent.mkdir(exist_ok=True)
            target.write_text(text)
            continue
        assert kind == "sh", text
        for command in text.splitlines():
            if command != DOWN:
                # A port and a name of its own: other clusters may run on this machine.
                said[command] = run(env, command.replace("cluster-up", "cluster-up $UP"))
    return said


def test_the_pages_for_users_work_as_they_stand(reader: dict[str, str]) -> None:
    said = follow(reader, "tutorial.md")
    assert "COMPLETED" in said["det experiment create -f one.yaml line"]
    assert said["det experiment list-trials 2 --best"].count("COMPLETED") == 8
    assert "version 1 is in" in said["python3 register.py"]
    assert '"step": 200' in said["cat best/state.json"]
    said = follow(reader, "sdk.md")
    assert said["python3 create.py"].endswith("ended as COMPLETED\n")
    assert said["python3 read.py"].count("last loss") == 8
    assert said["python3 steer.py"] == "the first one {'tutorial'}\n"
    assert said["python3 missing.py"].startswith("refused: ")
    said = follow(reader, "command-line.md")
    assert "is archived" in said["det experiment create -t one.yaml line"]
    assert said["det experiment kill 1 2"] == (
        "Experiment 1 had ended already: COMPLETED\nExperiment 2 had ended already: COMPLETED\n"
    )
    said = follow(reader, "model-registry.md")
    assert "version 1 first is in" in said["python3 registry.py"]
    assert "is down" in run(reader, f"{DOWN} --cluster-name tutorial")
