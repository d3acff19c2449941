"""Proxies of a pool: the machine's own downloads use them, and no output shows them."""

from __future__ import annotations

import shlex
import subprocess
from pathlib import Path

import pytest
from tests.backends.cloud.start_of_machine import Machine
from tests.backends.cloud.test_start_script import boot

from determined_master.backends.cloud.machine_proxies import files, proxies_of
from determined_master.backends.cloud.start_script import PLACE, start_script

pytestmark = pytest.mark.slow
HARD = "http://ops:50%\"of\\it's $HOME@proxy.example:3128"
PROXIES = proxies_of({"http_proxy": HARD, "no_proxy": ".example", "https_proxy": "", "other": 1})


@pytest.fixture
def machine(tmp_path: Path) -> Machine:
    made = Machine(tmp_path)
    made.stub("systemctl")
    (made.root / "run/systemd/system").mkdir(parents=True)
    return made


def unit_of(machine: Machine) -> Path:
    return machine.root / "etc/systemd/system/docker.service.d/determined-proxy.conf"


def test_the_values_are_those_of_the_agents_file() -> None:
    assert PROXIES == (("http_proxy", HARD), ("no_proxy", ".example"))
    exports = dict(files(PROXIES))["proxies"]
    words = shlex.split(exports)
    assert words == ["export", f"http_proxy={HARD}", "export", "no_proxy=.example"]


def test_docker_and_the_startup_script_get_them(machine: Machine) -> None:
    told = machine.directory / "seen"
    script = f'printf %s "$http_proxy" >{told}'
    done = machine.run(start_script(boot(proxies=PROXIES, startup_script=script)))
    assert done.returncode == 0, done.stderr
    assert told.read_text() == HARD
    text = unit_of(machine).read_text()
    assert 'Environment="NO_PROXY=.example"\n' in text
    assert '50%%\\"of\\\\it' in text
    assert machine.calls("systemctl")[:2] == [["daemon-reload"], ["try-restart", "docker"]]
    assert "ops" not in done.stdout + done.stderr
    for path in (unit_of(machine), machine.root / PLACE.lstrip("/") / "proxies"):
        assert path.stat().st_mode & 0o077 == 0


def test_docker_is_restarted_for_a_change_alone(machine: Machine) -> None:
    for _ in range(2):
        assert machine.run(start_script(boot(proxies=PROXIES))).returncode == 0
    assert machine.calls("systemctl").count(["try-restart", "docker"]) == 1
    assert machine.run(start_script(boot(proxies=PROXIES[1:]))).returncode == 0
    assert machine.calls("systemctl").count(["try-restart", "docker"]) == 2


def test_a_docker_that_does_not_come_back_is_named(machine: Machine) -> None:
    machine.stub("systemctl", 'case "$1" in try-restart) echo broken unit; exit 1 ;; esac')
    done = machine.run(start_script(boot(proxies=PROXIES)))
    assert done.returncode == 1
    assert "Docker could not be restarted with the pool's proxies: broken unit" in done.stderr


def test_without_proxies_nothing_is_changed(machine: Machine) -> None:
    assert machine.run(start_script(boot())).returncode == 0
    assert not unit_of(machine).exists()
    assert ["try-restart", "docker"] not in machine.calls("systemctl")


def test_bash_reads_the_whole(machine: Machine) -> None:
    text = start_script(boot(proxies=PROXIES))
    assert subprocess.run(["bash", "-n"], input=text, text=True, check=False).returncode == 0
