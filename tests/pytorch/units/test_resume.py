"""A resumed trial ends with exactly the same result as an uninterrupted one."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from toy import EPOCH, Bench, ToyTrial, weights

from determined import pytorch


@pytest.fixture
def bench(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Bench:
    place = tmp_path / "code"
    place.mkdir()
    monkeypatch.chdir(place)
    return Bench(tmp_path / "storage")


def leave_at(trial: ToyTrial, batch: int) -> None:
    """Ask the trial to leave while it trains a batch."""

    def ask() -> None:
        trial.context._core.preempt.now = True  # type: ignore[attr-defined]

    trial.acts[batch] = ask


@pytest.mark.parametrize("aggregation", [1, 3])
@pytest.mark.parametrize("batch", [0, 4, EPOCH - 1, EPOCH, 17])
def test_a_preempted_trial_resumes_with_its_next_batch(
    bench: Bench, batch: int, aggregation: int
) -> None:
    arguments: dict[str, Any] = {
        "max_length": pytorch.Batch(24),
        "validation_period": pytorch.Batch(7),
        "checkpoint_policy": "none",
    }
    whole = bench.fit(bench.trial(aggregation=aggregation), **arguments)
    [last] = bench.checkpoints()

    parted = bench.trial(aggregation=aggregation)
    leave_at(parted, batch)
    bench.fit(parted, **arguments)
    done = len(parted.seen)
    assert done == -(-(batch + 1) // aggregation) * aggregation
    [saved] = [uuid for uuid in bench.checkpoints() if uuid != last]
    resumed = bench.trial(seed=3, aggregation=aggregation)
    bench.fit(resumed, **arguments, latest_checkpoint=saved)

    assert parted.seen + resumed.seen == whole.seen
    assert parted.batches + resumed.batches == whole.batches
    assert weights(resumed) == weights(whole)
    assert resumed.scheduler.get_last_lr() == whole.scheduler.get_last_lr()


def test_validation_does_not_affect_training(bench: Bench) -> None:
    seldom = bench.fit(bench.trial(), max_length=pytorch.Epoch(2))
    often = bench.fit(
        bench.trial(),
        max_length=pytorch.Epoch(2),
        validation_period=pytorch.Batch(3),
        step_zero_validation=True,
    )
    assert weights(seldom) == weights(often)


def test_a_resumed_trial_does_not_validate_twice_at_one_place(bench: Bench) -> None:
    first = bench.trial()
    leave_at(first, 9)
    bench.fit(first, max_length=pytorch.Batch(20), validation_period=pytorch.Batch(10))
    assert [steps for steps, _ in bench.reports.of("validation")] == [10]
    again = bench.trial()
    bench.fit(
        again,
        max_length=pytorch.Batch(20),
        validation_period=pytorch.Batch(10),
        latest_checkpoint=bench.checkpoints()[-1],
        step_zero_validation=True,
    )
    assert [steps for steps, _ in bench.reports.of("validation")] == [20]


def test_a_trial_that_was_done_trains_no_more(bench: Bench) -> None:
    bench.fit(bench.trial(), max_length=pytorch.Batch(5))
    again = bench.trial()
    bench.fit(again, max_length=pytorch.Batch(5), latest_checkpoint=bench.checkpoints()[-1])
    assert again.seen == []
    assert bench.reports.made == []
    further = bench.trial()
    bench.fit(further, max_length=pytorch.Batch(8), latest_checkpoint=bench.checkpoints()[-1])
    assert [batch for _, batch in further.seen] == [5, 6, 7]


def test_another_trials_checkpoint_gives_weights_and_no_place(bench: Bench) -> None:
    first = bench.fit(bench.trial(), max_length=pytorch.Batch(5))
    trained = weights(first)
    other = bench.trial(seed=9)
    other.context.get_trial_id = lambda: 77
    begins: list[Any] = []
    other.acts[0] = lambda: begins.append(weights(other))
    bench.fit(other, max_length=pytorch.Batch(2), latest_checkpoint=bench.checkpoints()[-1])
    assert [batch for _, batch in other.seen] == [0, 1]
    assert begins == [trained]


SCRIPT = """
import hashlib, os, signal, sys
from determined import pytorch
from toy import ToyTrial, weights

def main():
    with pytorch.init(hparams={}) as context:
        trial = ToyTrial(context)
        dies = int(os.environ.get("DIES_AT", "-1"))
        trial.acts[dies] = lambda: os.kill(os.getpid(), signal.SIGKILL)
        pytorch.Trainer(trial, context).fit(
            max_length=pytorch.Epoch(3),
            checkpoint_period=pytorch.Batch(4),
            validation_period=pytorch.Batch(6),
            checkpoint_policy="none",
            latest_checkpoint=os.environ.get("LATEST"),
        )
        print(len(trial.seen), hashlib.sha256(b"".join(weights(trial))).hexdigest())

main()
"""


def test_a_trial_that_is_killed_between_two_batches_ends_with_the_same_bits(
    tmp_path: Path,
) -> None:
    (tmp_path / "code").mkdir()
    (tmp_path / "code" / "train.py").write_text(SCRIPT)
    here = Path(__file__).parent

    def start(place: str, **variables: str) -> subprocess.Popen[str]:
        env = {
            **os.environ,
            "PYTHONPATH": os.pathsep.join([str(here), str(here.parents[2] / "src")]),
            "XDG_DATA_HOME": str(tmp_path / place),
            **variables,
        }
        pipe = subprocess.PIPE
        command = [sys.executable, "train.py"]
        place_of_code = tmp_path / "code"
        return subprocess.Popen(
            command, cwd=place_of_code, env=env, stdout=pipe, stderr=pipe, text=True
        )

    def said(run: subprocess.Popen[str]) -> list[str]:
        out, err = run.communicate(timeout=120)
        assert run.returncode == 0, err
        return out.split()

    whole, parted = start("whole"), start("parted", DIES_AT="14")
    parted.communicate(timeout=120)
    assert parted.returncode == -signal.SIGKILL
    stored = tmp_path / "parted" / "determined" / "checkpoints"
    steps = {json.loads(p.read_text())["steps_completed"]: p for p in stored.glob("*/meta*.json")}
    assert sorted(steps) == [4, 8, 12]
    resumed = start("parted", LATEST=steps[12].parent.name)
    count, weights = said(whole)
    assert count == "30"
    assert said(resumed) == ["18", weights]
