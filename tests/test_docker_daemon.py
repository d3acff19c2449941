"""What the tests' Docker daemon leaves of the machine's network: all of it."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest
from tests.docker_daemon import missing

pytestmark = [
    pytest.mark.slow,
    pytest.mark.docker,
    pytest.mark.kill,
    pytest.mark.xdist_group("docker"),
]

BEFORE_AND_AFTER = """
import json, subprocess, sys
from pathlib import Path
from tests.docker_daemon import daemon

def state():
    commands = ("ip -br link", "ip -br address", "ip route", "iptables-save")
    said = [subprocess.check_output(c.split(), text=True) for c in commands]
    settings = ("ip_forward", "conf/all/forwarding", "conf/all/route_localnet")
    said += [Path("/proc/sys/net/ipv4", name).read_text() for name in settings]
    return [line for text in said for line in text.splitlines() if not line.startswith("#")]

before = state()
with daemon(has_bridge=sys.argv[1] == "bridge") as docker:
    docker.restart()
print(json.dumps([before, state()]))
"""
KILLED = """
import sys, time
from tests.docker_daemon import daemon
with daemon() as docker:
    print(docker.bridge.name, flush=True)
    time.sleep(600)
"""
OWN_NETWORK = "ip link set lo up; ip link add docker0 type bridge; "
OWN_NETWORK += "ip address add 172.30.255.1/24 dev docker0; ip link set docker0 up; "


def in_own_network(script: str, *arguments: str) -> list[str]:
    """A command that runs a script where the machine has a Docker of its own, by its bridge."""
    shell = OWN_NETWORK + 'exec "$@"'
    return [
        *("unshare", "--net", "sh", "-euc", shell, "sh", sys.executable, "-c", script),
        *arguments,
    ]


@pytest.fixture(autouse=True)
def a_machine_for_docker() -> None:
    if (reason := missing()) is not None:
        pytest.skip(f"no Docker here: {reason}")


@pytest.mark.parametrize("kind", ["bridge", "none"])
def test_the_bridge_of_the_machines_docker_outlives_the_tests_daemon(kind: str) -> None:
    done = subprocess.run(
        in_own_network(BEFORE_AND_AFTER, kind),
        env=environment(),
        capture_output=True,
        text=True,
        check=False,
        timeout=300,
    )
    assert done.returncode == 0, done.stderr
    before, after = json.loads(done.stdout)
    assert after == before
    assert any(line.startswith("docker0 ") for line in after)


def test_a_run_that_is_killed_leaves_no_bridge() -> None:
    with subprocess.Popen(
        [sys.executable, "-c", KILLED], env=environment(), stdout=subprocess.PIPE, text=True
    ) as owner:
        assert owner.stdout is not None
        name = owner.stdout.readline().strip()
        assert is_there(name)
        owner.send_signal(signal.SIGKILL)
    give_up_at = time.monotonic() + 60
    while is_there(name):
        assert time.monotonic() < give_up_at, f"{name} is still there"
        time.sleep(0.05)


def is_there(interface: str) -> bool:
    return Path("/sys/class/net", interface).exists()


def environment() -> dict[str, str]:
    return {**os.environ, "PYTHONPATH": str(Path(__file__).parents[1])}
