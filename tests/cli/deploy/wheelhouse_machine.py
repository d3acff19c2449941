"""A wheelhouse, and a master's machine that reaches no package index and installs from it."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest
from tests import wheelhouses
from tests.backends.cloud.start_of_machine import Machine

from determined_deploy.cloud import wheel
from determined_deploy.cloud.wheel import AGENT_EXTRAS

_USE = """
import determined_master, msgspec, obstore, sys, urllib3
print(sys.prefix)
"""
_STUBS = {
    "python3": f'exec {sys.executable} "$@"',
    "lsblk": 'case "$*" in *-dnpo*) echo /dev/sdz Amazon disk ;; *) echo sdz ;; esac',
    "blkid": "exit 2",
    "mountpoint": "exit 1",
    **dict.fromkeys(("systemctl", "mkfs.ext4", "mount", "resize2fs"), ""),
}


def fill_wheelhouse(directory: Path, patch: pytest.MonkeyPatch) -> Path:
    """Wheels that the installed version accepts, which `up` then uploads with its own wheel."""
    # Those of agents alone, which the master needs too: emulated buckets take minutes for 100 MB.
    made, site = wheelhouses.release(directory, *AGENT_EXTRAS)
    patch.setenv("PYTHONPATH", str(site))  # of the processes that check the directory

    def build_wheel(target: str) -> Path:
        path = Path(target, made.name)
        path.write_bytes(made.content)
        return path

    patch.setattr(wheel, "build_wheel", build_wheel)
    return directory / "house"


def start_without_index(directory: Path, script: str, environment: dict[str, str]) -> None:
    """Run the start script of a master twice, and use what it has installed.

    Args:
        directory: a new one for the machine.
        script: the start script.
        environment: what the machine's metadata service and its cloud are.
    """
    machine = Machine(directory)
    for name, body in _STUBS.items():
        machine.stub(name, body)
    (machine.root / "etc/systemd/system").mkdir(parents=True)
    disk = machine.root / "dev/disk/by-id/google-database"
    disk.parent.mkdir(parents=True)
    disk.touch()
    machine.environment = {
        **environment,
        **{"PIP_INDEX_URL": "http://127.0.0.1:9/", "PIP_RETRIES": "0", "PIP_NO_COMPILE": "1"},
    }
    for _ in range(2):  # it runs at each start
        started = machine.run(script)
        assert started.returncode == 0, started.stdout + started.stderr
    place = machine.root / "opt/determined"
    bare = {"HOME": "/root"}
    command = [str(place / "bin/python"), "-c", _USE]
    used = subprocess.run(command, capture_output=True, text=True, env=bare, check=False)
    assert used.stdout.strip() == str(place), used.stderr
    unit = (machine.root / "etc/systemd/system/determined-master.service").read_text()
    wheels = place / "wheels"
    assert f"\nEnvironment=DET_WHEELHOUSE={wheels}\n" in unit
    # What the master gives its agents.
    words = ["-m", "determined_wire.wheelhouse", str(wheels), str(directory / "packages.tar")]
    subprocess.run([*command[:1], *words, *AGENT_EXTRAS], check=True, env=bare)
