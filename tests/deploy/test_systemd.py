"""The units by which systemd keeps a master and an agent running."""

from __future__ import annotations

import configparser
import shutil
import subprocess
from pathlib import Path

import pytest
from tests.covers import covers

UNITS = Path(__file__).parents[2] / "deploy" / "systemd"
UNIT = UNITS / "determined-agent.service"


@covers("agent-config 6.systemd")
def test_the_agent_is_started_after_docker_and_always_again() -> None:
    unit = configparser.ConfigParser(strict=False)
    unit.read_string(UNIT.read_text())
    assert "docker.service" in unit["Unit"]["After"].split()
    assert unit["Service"]["Restart"] == "always"
    assert unit["Service"]["ExecStart"].endswith("determined-agent run")
    assert unit["Service"]["KillMode"] == "process"  # tasks outlive the agent


@pytest.mark.parametrize("name", ["agent", "master"])
def test_a_unit_gives_no_new_privileges(name: str) -> None:
    unit = configparser.ConfigParser(strict=False)
    unit.read_string((UNITS / f"determined-{name}.service").read_text())
    service = unit["Service"]
    assert service["NoNewPrivileges"] == "yes"
    assert service["ProtectSystem"] == {"agent": "full", "master": "strict"}[name]
    assert service.get("DynamicUser") == {"agent": None, "master": "yes"}[name]


@pytest.mark.slow
@pytest.mark.parametrize("name", ["agent", "master", "journal"])
def test_systemd_takes_the_unit(name: str) -> None:
    path = UNITS / f"determined-{name}.service"
    if shutil.which("systemd-analyze") is None:
        pytest.skip("there is no systemd-analyze here")
    done = subprocess.run(
        ["systemd-analyze", "verify", "--man=no", str(path)],
        capture_output=True,
        text=True,
        check=False,
        timeout=60,
    )
    said = [line for line in done.stderr.splitlines() if path.name in line]
    assert said == [], done.stderr
