"""Shell completion of the agent's options."""

from __future__ import annotations

import shlex
import subprocess

import pytest
from tests.covers import covers

from determined_agent.settings.options import load


@covers("agent-config 1.subcommands")
def test_bash_completes_options(capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit) as caught:
        load(["completion", "bash"], {})
    assert caught.value.code == 0
    script = capsys.readouterr().out + "complete -p determined-agent\n"
    found = subprocess.run(
        ["bash", "-c", script], capture_output=True, text=True, check=True, timeout=60
    )
    words = shlex.split(found.stdout)[4].split()
    assert {"run", "version", "--config-file", "--master-host", "--log-level"} <= set(words)


def test_completion_names_the_supported_shells(capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit):
        load(["completion"], {})
    assert "completion needs a shell: one of bash, zsh" in capsys.readouterr().err
