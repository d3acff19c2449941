"""Nouns of `det` that belong to packages beside the client."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest
from tests.cli.conftest import Det

from determined.cli import main, nouns
from determined_agent.runtimes.harness import link_harness


class Without:
    """Finds no package of this name."""

    def __init__(self, package: str) -> None:
        self._package = package

    def find_spec(self, name: str, *_: object) -> None:
        if name == self._package:
            raise ModuleNotFoundError(f"No module named {name!r}", name=name)


def test_a_noun_of_a_package_that_is_missing_is_refused_with_the_remedy(
    det: Det, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name in [name for name in sys.modules if name.startswith("determined_deploy")]:
        monkeypatch.delitem(sys.modules, name)
    monkeypatch.setattr(sys, "meta_path", [Without("determined_deploy"), *sys.meta_path])
    outcome = det("d", "local", "cluster-up")
    assert outcome.status == 1
    assert outcome.err.startswith("det deploy needs the package determined_deploy, and this ")
    names = {noun.name for noun in nouns.load_all()}
    assert "experiment" in names
    assert "deploy" not in names
    assert main.main(["help"]) == 0


def test_a_package_that_lacks_one_of_its_own_needs_says_which(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setitem(sys.modules, "determined.cli.master", None)
    with pytest.raises(ModuleNotFoundError, match=r"determined\.cli\.master"):
        nouns.load("master")


def test_a_task_has_the_client_without_deployments(tmp_path: Path) -> None:
    assert link_harness(tmp_path) == []
    program = "from determined.cli.main import main; raise SystemExit(main())"
    for words, status, text in (
        (("help",), 0, "manage deployments"),
        (("experiment", "--help"), 0, "usage: det experiment"),
        (("deploy", "local"), 1, "det deploy needs the package determined_deploy"),
    ):
        done = subprocess.run(
            [sys.executable, "-S", "-c", program, *words],
            capture_output=True,
            text=True,
            timeout=60,
            env={"PYTHONPATH": str(tmp_path), "HOME": str(tmp_path)},
        )
        assert text in done.stdout + done.stderr
        assert done.returncode == status
