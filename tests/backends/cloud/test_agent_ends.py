"""Agents that end again and again after the start of their machine: run by bash, and reported."""

from __future__ import annotations

import json
import os
import pwd
import shutil
import subprocess
from collections.abc import AsyncIterator, Iterator
from pathlib import Path
from typing import Any, ClassVar

import psutil
import pytest
from tests.agent_link import until
from tests.backends.cloud.http_servers import Quiet, serving
from tests.backends.cloud.start_of_machine import Machine
from tests.backends.cloud.test_start_script import boot, need_curl
from tests.docker_daemon import IMAGE, Daemon

from determined_master.backends.cloud.agent_ends import MAX_ENDS, QUICK_S
from determined_master.backends.cloud.start_script import PLACE, start_script

pytestmark = pytest.mark.slow
GCR = """\
export HOME=/root
words=(configure docker)
[[ ${#words[@]} == 2 ]] && echo "${words[@]}" >"$DETERMINED_ROOT/configured"
"""
"""In the form of the documentation of 0.38.1: without a shebang. The words need bash."""
BROKEN = 'echo first; for n in 1 2 3; do echo "line $n"; done; echo "no such helper" >&2; exit 7\n'


class Master(Quiet):
    """Takes reports."""

    reports: ClassVar[list[dict[str, Any]]]

    def do_POST(self) -> None:
        """One report."""
        self.reports.append(json.loads(self.rfile.read(int(self.headers["Content-Length"]))))
        self.reply(200, b"{}")


@pytest.fixture
def master() -> Iterator[tuple[list[dict[str, Any]], int]]:
    """The reports that a master has got, and its port."""
    reports: list[dict[str, Any]] = []
    with serving(type("OfOne", (Master,), {"reports": reports})) as url:
        yield reports, int(url.rsplit(":", 1)[1])


@pytest.fixture
async def machine(tmp_path: Path) -> AsyncIterator[Machine]:
    """One whose agent is a stub; its processes end with the test."""
    need_curl()
    made = Machine(tmp_path)
    (made.stubs / "curl").unlink()
    made.stub("determined-agent", f'echo "HOME=$HOME" >>{tmp_path}/ran; exec sleep.real 600')
    (made.stubs / "sleep.real").symlink_to("/bin/sleep")
    yield made
    for process in psutil.process_iter(["environ"]):
        if (process.info["environ"] or {}).get("DETERMINED_ROOT") == str(made.root):
            process.kill()


def start(machine: Machine, port: int, **changes: Any) -> subprocess.CompletedProcess[str]:
    told = boot(**{"image": "", "master_host": "127.0.0.1", "master_port": port, **changes})
    done = machine.run(start_script(told))
    assert done.returncode == 0, done.stderr
    return done


def failed(reports: list[dict[str, Any]]) -> list[dict[str, Any]]:
    return [report for report in reports if report["failed"]]


@pytest.mark.parametrize("head", ["", "#!/bin/bash\n"])
async def test_the_agents_script_runs_by_its_shebang_or_by_bash(
    machine: Machine, master: tuple[list[dict[str, Any]], int], head: str
) -> None:
    reports, port = master
    start(machine, port, container_startup_script=head + GCR)
    ran = machine.directory / "ran"
    await until(lambda: ran.exists() and ran.read_text(), what="the agent")
    assert (machine.root / "configured").read_text() == "configure docker\n"
    assert failed(reports) == []


async def test_the_agent_and_its_script_have_the_home_of_their_account(
    machine: Machine, master: tuple[list[dict[str, Any]], int]
) -> None:
    """As a service of systemd, which gives none."""
    script = 'echo "$HOME" >"$DETERMINED_ROOT/home"'
    start(machine, master[1], container_startup_script=script)
    ran = machine.directory / "ran"
    home = pwd.getpwuid(os.getuid()).pw_dir
    await until(lambda: ran.exists() and ran.read_text() == f"HOME={home}\n", what="the agent")
    assert (machine.root / "home").read_text() == f"{home}\n"


async def test_a_script_that_fails_is_reported_with_its_last_lines(
    machine: Machine, master: tuple[list[dict[str, Any]], int]
) -> None:
    reports, port = master
    done = start(machine, port, container_startup_script=BROKEN)
    assert "the agent is started" in done.stdout
    await until(lambda: failed(reports), what="a report")
    report = failed(reports)[0]
    assert (report["step"], report["agent_id"]) == ("agent", "i-123")
    assert (
        "line 3 no such helper the container startup script ended with exit code 7"
        in (report["detail"])
    )
    assert "mend provider.container_startup_script" in report["detail"]
    log = (machine.root / PLACE.lstrip("/") / "agent.log").read_text()
    assert log.count("no such helper\n") >= MAX_ENDS
    assert not (machine.directory / "ran").exists()


async def test_an_agent_that_cannot_start_is_reported_with_its_last_lines(
    machine: Machine, master: tuple[list[dict[str, Any]], int]
) -> None:
    reports, port = master
    machine.stub("determined-agent", "echo 'no module named x' >&2; exit 1")
    start(machine, port)
    await until(lambda: failed(reports), what="a report")
    assert "no module named x" in failed(reports)[0]["detail"]


def with_systemd(machine: Machine) -> Path:
    """The program that systemd calls after each end of the agent."""
    machine.stub("systemctl")
    machine.stub("journalctl", 'case "$*" in *--lines*) echo "docker is not there" ;; esac')
    (machine.root / "run/systemd/system").mkdir(parents=True)
    (machine.root / "etc/systemd/system").mkdir(parents=True)
    return machine.root / PLACE.lstrip("/") / "agent_ended"


def ends(machine: Machine, program: Path, **variables: str) -> None:
    environment = {"DETERMINED_ROOT": str(machine.root), **variables}
    environment["PATH"] = f"{machine.stubs}:/usr/bin:/bin"
    subprocess.run([program], env=environment, check=True, timeout=60)


def test_systemd_passes_each_end_and_the_third_in_a_row_is_reported(
    machine: Machine, master: tuple[list[dict[str, Any]], int]
) -> None:
    reports, port = master
    program = with_systemd(machine)
    start(machine, port)
    unit = machine.root / "etc/systemd/system/determined-agent.service"
    assert f"ExecStopPost={program}\n" in unit.read_text()
    for count in range(1, MAX_ENDS + 2):
        ends(machine, program, SERVICE_RESULT="exit-code", EXIT_STATUS="2")
        assert len(failed(reports)) == max(0, count - MAX_ENDS + 1)
    assert failed(reports)[0]["detail"].strip() == "docker is not there"


def test_ends_that_are_not_in_a_row_are_no_failure(
    machine: Machine, master: tuple[list[dict[str, Any]], int]
) -> None:
    reports, port = master
    program = with_systemd(machine)
    start(machine, port)
    for _ in range(MAX_ENDS):
        for _ in range(MAX_ENDS - 1):
            ends(machine, program, SERVICE_RESULT="exit-code")
        ends(machine, program, SERVICE_RESULT="success")  # systemctl stop
    for _ in range(MAX_ENDS - 1):
        ends(machine, program, SERVICE_RESULT="exit-code")
    counted = program.with_name("agent_ends")
    count, at = counted.read_text().split()
    counted.write_text(f"{count} {int(at) - QUICK_S - 10}\n")
    ends(machine, program, SERVICE_RESULT="exit-code")
    assert failed(reports) == []


async def test_the_ends_of_an_agent_in_its_image_are_reported(
    machine: Machine, master: tuple[list[dict[str, Any]], int]
) -> None:
    reports, port = master
    machine.stub(
        "docker",
        'case "$1" in wait) echo 1 ;; logs) echo "script failed" >&2 ;; esac',
    )
    start(machine, port, image="lab/agent:2", container_startup_script=BROKEN)
    await until(lambda: failed(reports), what="a report")
    assert failed(reports)[0]["detail"].strip() == "script failed"
    assert failed(reports)[0]["step"] == "agent"


@pytest.mark.docker
@pytest.mark.xdist_group("docker")
async def test_ends_of_a_container_that_docker_restarts_are_reported(
    machine: Machine, master: tuple[list[dict[str, Any]], int], docker: Daemon
) -> None:
    reports, port = master
    real = shutil.which("docker")
    machine.stub(
        "docker",
        f'case "$1" in wait | logs) exec {real} -H {docker.address} "$@" ;; esac',
    )
    docker.run(
        *("run", "--detach", "--restart", "always", "--name", "determined-agent"),
        *("--network", "host", IMAGE, "sh", "-c", "echo no such helper; exit 3"),
    )
    try:
        start(machine, port, image="lab/agent:2")
        await until(lambda: failed(reports), what="a report")
    finally:
        docker.run("rm", "--force", "determined-agent")
    assert failed(reports)[0]["detail"].endswith("no such helper")
