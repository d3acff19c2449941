"""What a killed run of a bed of Kubernetes left does not hinder the next one."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

LEFTOVERS = Path(__file__).parent / "bed/leftovers.sh"
# `down` of a bed ends the process of each file, as the one of `tests/kubernetes.sh --bed` does.
BED = """#!/bin/sh
echo "$@" >>"$TESTBED/calls"
for file in "$TESTBED"/run/*.pid; do kill "$(cat "$file")"; rm "$file"; done
"""
IN_MOUNTS = ["unshare", "--mount", *([] if os.getuid() == 0 else ["--map-root-user"])]


@pytest.fixture
def testbed(tmp_path: Path) -> Path:
    bed = tmp_path / "bed"
    bed.write_text(BED)
    bed.chmod(0o755)
    (tmp_path / "run/kubelet/pods/one").mkdir(parents=True)
    return tmp_path


def _leftovers(testbed: Path, before: str = ":", prefix: list[str] | None = None) -> str:
    script = f'{before}; "{LEFTOVERS}" bed "$TESTBED"; grep -c "$TESTBED/run/kubelet" /proc/mounts'
    run = subprocess.run(
        [*(prefix or []), "sh", "-c", script],
        env={"PATH": f"{testbed}:{os.environ['PATH']}", "TESTBED": str(testbed)},
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
    )
    assert not run.stderr
    return run.stdout.strip()


@pytest.mark.skipif(
    subprocess.run([*IN_MOUNTS, "true"], capture_output=True, check=False).returncode != 0,
    reason="this account may not mount, not even in a namespace of its own",
)
def test_mounts_that_are_there_twice_are_removed(testbed: Path) -> None:
    mount = 'mount -t tmpfs none "$TESTBED/run/kubelet/pods/one"'

    assert _leftovers(testbed, before=f"{mount}; {mount}", prefix=IN_MOUNTS) == "0"


def test_processes_of_a_bed_are_ended_and_a_stranger_with_their_id_is_not(testbed: Path) -> None:
    sleep = [sys.executable, "-c", "import time; time.sleep(60)"]
    with (
        subprocess.Popen([*sleep, f"--root-dir={testbed}/run/kubelet"]) as of_bed,
        subprocess.Popen(sleep) as stranger,
    ):
        try:
            (testbed / "run/kubelet.pid").write_text(f"{of_bed.pid}\n")
            (testbed / "run/hollow-1.pid").write_text(f"{stranger.pid}\n")

            _leftovers(testbed)

            assert of_bed.wait(10) == -15
            assert stranger.poll() is None
            assert (testbed / "calls").read_text() == "down\n"
        finally:
            of_bed.kill()
            stranger.kill()


def test_a_containerd_that_was_left_alone_is_ended(testbed: Path) -> None:
    directory = testbed / "run/docker/containerd"
    directory.mkdir(parents=True)
    command = [sys.executable, "-c", "import time; time.sleep(60)", str(directory)]
    with subprocess.Popen(command) as containerd:
        try:
            (directory / "containerd.pid").write_text(f"{containerd.pid}\n")

            _leftovers(testbed)

            assert containerd.poll() == -15, "it has ended when the script has"
        finally:
            containerd.kill()


def test_a_bed_without_leftovers_is_not_ended(testbed: Path) -> None:
    (testbed / "run/etcd.pid").write_text("4194304\n")  # above the highest id there can be

    _leftovers(testbed)

    assert not (testbed / "calls").exists()
    assert not list(testbed.glob("run/*.pid"))
