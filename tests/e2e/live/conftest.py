"""One cluster for all commands, a finished experiment on it, and `det` run in this process."""

from __future__ import annotations

import contextlib
import csv
import io
import json
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest
from tests.e2e.cluster import Cluster, until
from tests.e2e.conftest import running

from determined.cli import main
from determined.common.api.errors import NotFoundException

CONFIG = """\
name: counts
description: counts to three
labels: [one]
entrypoint: python3 train.py
hyperparameters: {quality: {type: int, minval: 1, maxval: 9}}
searcher: {name: random, metric: loss, max_trials: 2}
resources: {slots_per_trial: 1}
max_restarts: 0
checkpoint_storage: {save_experiment_best: 9, save_trial_best: 9, save_trial_latest: 9}
"""
TRAIN = '''
"""Three steps, each reported and saved."""
import determined as det
from determined import core

quality = det.get_cluster_info().trial.hparams["quality"]
with core.init(tensorboard_mode=core.TensorboardMode.MANUAL) as context:
    for step in (1, 2, 3):
        print("step", step, flush=True)
        context.train.report_training_metrics(step, {"loss": quality / step})
        context.train.report_validation_metrics(step, {"loss": quality / step, "acc": step})
        with context.checkpoint.store_path({"steps_completed": step}) as (path, uuid):
            (path / "step").write_text(str(step))
            (path / "weights").mkdir()
            (path / "weights" / "w").write_text("w" * 10)
'''
WAITS = """
import time
from determined import core

with core.init(tensorboard_mode=core.TensorboardMode.MANUAL) as context:
    print("waiting", flush=True)
    while not context.preempt.should_preempt():
        time.sleep(0.02)
"""
SINGLE = """\
name: waits
entrypoint: python3 train.py
searcher: {name: single, metric: loss}
max_restarts: 0
"""
SETTINGS = "resource_pools: [{pool_name: default}, {pool_name: lab}]"
FREE_PREVIEW = "{name: p, searcher: {name: random, metric: loss, max_trials: 3}}"


@dataclass(frozen=True)
class Said:
    """What a command printed."""

    out: str
    err: str

    def json(self) -> Any:
        return json.loads(self.out)

    def rows(self) -> list[dict[str, str]]:
        """Its CSV."""
        return list(csv.DictReader(io.StringIO(self.out)))


class _Terminal(io.StringIO):
    """Somebody looks at what is written."""

    def isatty(self) -> bool:
        return True


class Person:
    """The admin at the command line."""

    def __init__(self, cluster: Cluster, folder: Path) -> None:
        self.cluster = cluster
        self.folder = folder

    def det(self, *words: object, typed: str = "", code: int = 0) -> Said:
        """Run one command, which must end with this status."""
        out, err = io.StringIO(newline=""), io.StringIO()
        before, sys.stdin = sys.stdin, io.StringIO(typed)
        try:
            with contextlib.redirect_stdout(out), contextlib.redirect_stderr(err):
                try:
                    status = main.main([str(word) for word in words])
                except SystemExit as exit_:
                    status = int(exit_.code or 0)
        finally:
            sys.stdin = before
        said = Said(out.getvalue(), err.getvalue())
        assert status == code, f"det {words} ended with {status}: {said}"
        return said

    def det_comes_to_say(self, text: str, *words: object) -> None:
        """Run one command again until it prints a text: logs arrive a little behind."""
        until(lambda: text in self.det(*words).out, what=f"{text!r} from det {words}")

    def det_on_terminal(self, *words: object) -> str:
        """What a command prints to somebody at a terminal."""
        out = _Terminal()
        with contextlib.redirect_stdout(out):
            assert main.main([str(word) for word in words]) == 0
        return out.getvalue()

    def reaches_gone(self, number: int) -> None:
        """Wait until there is no such experiment."""

        def is_gone() -> bool:
            try:
                shown = self.experiment(number)
            except NotFoundException:
                return True
            assert shown["state"] != "STATE_DELETE_FAILED", shown
            return False

        until(is_gone, what=f"the end of experiment {number}")

    def model(self, script: str) -> Path:
        """A model directory with one script."""
        folder = self.folder / f"model-{abs(hash(script))}"
        folder.mkdir(exist_ok=True)
        (folder / "train.py").write_text(script)
        return folder

    def file(self, text: str) -> Path:
        """A file with a text."""
        path = self.folder / f"file-{abs(hash(text))}.yaml"
        path.write_text(text)
        return path

    def create(self, config: str = SINGLE, script: str = WAITS, *options: object) -> int:
        """Create an experiment; its id."""
        said = self.det("e", "create", self.file(config), self.model(script), *options)
        return int(said.out.split("Created experiment ")[1].split()[0])

    def experiment(self, number: int) -> dict[str, Any]:
        """An experiment as the API tells it now."""
        found: dict[str, Any] = self.cluster.get(f"/api/v1/experiments/{number}")["experiment"]
        return found

    def state(self, number: int) -> str:
        """The state of an experiment as it is shown now."""
        return str(self.experiment(number)["state"]).removeprefix("STATE_")

    def reaches(self, number: int, *states: str) -> str:
        """Wait until an experiment is in one of these states; which."""
        return str(
            until(
                lambda: self.state(number) if self.state(number) in states else "",
                what=f"{states} of experiment {number}",
            )
        )

    def trial(self, number: int) -> dict[str, Any]:
        """The first trial of an experiment, once there is one."""
        found: dict[str, Any] = until(lambda: self.cluster.trials(number), what="a trial")[0]
        return found

    def prints(self, number: int, text: str) -> dict[str, Any]:
        """Wait until the first trial has printed a text; the trial."""
        trial = self.trial(number)
        path = f"/api/v1/trials/{trial['id']}/logs"
        until(lambda: text in self.cluster.session().get(path).text, what=f"{text!r} in the log")
        return trial


@pytest.fixture(scope="session")
def live() -> Iterator[Cluster]:
    """A cluster of two slots, with a second pool that has none."""
    with running(settings=SETTINGS) as made:
        yield made


@pytest.fixture
def person(live: Cluster, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Person:
    """The admin, whose token is in the environment as in a task."""
    for name in ("DET_USER", "DET_PASS", "_ARGCOMPLETE"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("DET_MASTER", live.address)
    monkeypatch.setenv("DET_USER_TOKEN", live.session().token)
    monkeypatch.setenv("HOME", str(tmp_path))
    monkeypatch.setenv("XDG_CONFIG_HOME", str(tmp_path / "config"))
    monkeypatch.setenv("COLUMNS", "100")
    monkeypatch.chdir(tmp_path)
    return Person(live, tmp_path)


@pytest.fixture(scope="session")
def finished_id(live: Cluster) -> int:
    """Two trials with three checkpoints each, for tests that only read it."""
    import ruamel.yaml

    config = ruamel.yaml.YAML(typ="safe").load(CONFIG)
    number = live.submit(config, {"train.py": TRAIN})
    assert live.wait(number) == "COMPLETED"
    return number
