"""The unit by which systemd keeps an agent running."""

from __future__ import annotations

import configparser
import shutil
import subprocess
from pathlib import Path

import pytest
from tests.covers import covers

UNIT = Path(__file__).parents[2] / "deploy" / "systemd" / "determined-agent.service"


@covers("agent-config 6.systemd")
def test_the_agent_is_started_after_docker_and_always_again() -> None:
    unit = configparser.ConfigParser(strict=False)
    unit.read_string(UNIT.read_text())
    assert "docker.service" in unit["Unit"]["After"].split()
    assert unit["Service"]["Restart"] == "always"
    assert unit["Service"]["ExecStart"].endswith("determined-agent run")
    assert unit["Service"]["KillMode"] == "process"  # tasks outlive the agent


@pytest.mark.slow
def test_systemd_takes_the_unit() -> None:
    if shutil.which("systemd-analyze") is None:
        pytest.skip("there is no systemd-analyze here")
    done = subprocess.run(
        ["systemd-analyze", "verify", "--man=no", str(UNIT)],
        capture_output=True,
        text=True,
        check=False,
        timeout=60,
    )
    said = [line for line in done.stderr.splitlines() if UNIT.name in line]
    assert said == [], done.stderr
