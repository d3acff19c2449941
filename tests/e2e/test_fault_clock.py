"""Clocks that are wrong, and clocks that jump: work and what is told of it stay right."""

from __future__ import annotations

import re
from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest
from tests.e2e.cluster import Cluster, Way, until
from tests.e2e.conftest import running
from tests.e2e.faults import Held
from tests.e2e.test_life import config

pytestmark = [pytest.mark.e2e, pytest.mark.slow]

HOUR_S = 3600
AWHILE = timedelta(minutes=5)
"""How late a message of a busy machine may be: little against an hour."""

SLOW_TO_LEAVE = '''
"""Trains; when it is asked to leave it needs three seconds to save its work."""
import os, pathlib, time
from determined import core

with core.init() as context:
    context.train.report_validation_metrics(1, {"loss": 1.0})
    while not context.preempt.should_preempt():
        time.sleep(0.05)
    pathlib.Path(os.environ["PLACE"], "asked").touch()
    time.sleep(3)
    with context.checkpoint.store_path({"steps_completed": 1}) as (path, uuid):
        (path / "step").write_text("1")
'''

DEAF = '''
"""Trains, and does not look whether it should leave."""
import time
from determined import core

with core.init() as context:
    context.train.report_validation_metrics(1, {"loss": 1.0})
    while True:
        time.sleep(0.1)
'''


@pytest.fixture(scope="module")
def clocks(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Path]:
    """By how many seconds each clock is ahead."""
    made = {name: tmp_path_factory.mktemp("clocks") / name for name in ("master", "agent")}
    for file in made.values():
        file.write_text("0")
    return made


@pytest.fixture(scope="module")
def skewed(clocks: dict[str, Path]) -> Iterator[Cluster]:
    """One agent of two slots whose clock is an hour ahead, and a master whose clock jumps."""
    clocks["agent"].write_text(str(HOUR_S))

    def prepare(cluster: Cluster) -> None:
        cluster.ways["master"] = Way({"clock": str(clocks["master"])})
        cluster.ways["agent-0"] = Way({"clock": str(clocks["agent"]), "shim_ahead_s": HOUR_S})

    with running(prepare=prepare) as made:
        yield made


def jump(clocks: dict[str, Path], by_s: float) -> None:
    """Set the master's clock."""
    file = clocks["master"].with_suffix(".new")
    file.write_text(str(float(clocks["master"].read_text()) + by_s))
    file.rename(clocks["master"])


def instant(text: str) -> datetime:
    return datetime.fromisoformat(text.replace("Z", "+00:00"))


def trained(cluster: Cluster, experiment: int) -> bool:
    return any(t["totalBatchesProcessed"] for t in cluster.trials(experiment))


def test_an_agents_clock_that_is_an_hour_off_shows_nowhere(skewed: Cluster) -> None:
    """Its lines have times of the master's clock, durations are the master's alone."""
    began = datetime.now(UTC) - AWHILE
    experiment = skewed.submit(config("echo its line; sleep 1"), {})
    assert skewed.wait(experiment) == "COMPLETED"
    ended = datetime.now(UTC) + AWHILE
    [trial] = skewed.trials(experiment)
    lines = list(skewed.lines(trial["id"]))
    assert any("its line" in line["log"] for line in lines)
    for line in lines:
        assert began < instant(line["timestamp"]) < ended, line
    assert 1 <= float(trial["wallClockTime"]) < AWHILE.total_seconds()
    assert "an agent's clock differs from the master's" in skewed.log()
    ahead = re.search(r"ahead_s\W+([\d.]+)", skewed.log())
    assert ahead is not None
    assert HOUR_S - AWHILE.total_seconds() < float(ahead[1]) <= HOUR_S + 1


def test_a_clock_that_jumps_ahead_ends_nobodys_time_to_leave(
    skewed: Cluster, clocks: dict[str, Path]
) -> None:
    place = skewed.root / "ahead"
    place.mkdir()
    place.chmod(0o777)
    given = config(
        environment={"environment_variables": [f"PLACE={place}"]}, preemption_timeout=HOUR_S
    )
    experiment = skewed.submit(given, {"t.py": SLOW_TO_LEAVE})
    until(lambda: trained(skewed, experiment), what="a report")
    skewed.post(f"/api/v1/experiments/{experiment}/pause")
    until((place / "asked").exists, what="the request to leave")
    jump(clocks, 2 * HOUR_S)
    until(lambda: not skewed.tasks(), what="the end of its run")
    [trial] = skewed.trials(experiment)
    assert trial["checkpointCount"] == 1
    assert skewed.state(experiment) == "PAUSED"
    until(lambda: "the clock has jumped" in skewed.log(), what="that the master notices")
    skewed.post(f"/api/v1/experiments/{experiment}/kill")
    assert skewed.wait(experiment) == "CANCELED"
    assert "did not leave" not in skewed.text(trial["id"])


def test_a_clock_that_jumps_back_lets_nobody_stay_forever(
    skewed: Cluster, clocks: dict[str, Path]
) -> None:
    experiment = skewed.submit(config(preemption_timeout=4), {"t.py": DEAF})
    until(lambda: trained(skewed, experiment), what="a report")
    skewed.post(f"/api/v1/experiments/{experiment}/pause")
    jump(clocks, -2 * HOUR_S)
    until(lambda: not skewed.tasks(), what="the end of its run")
    skewed.post(f"/api/v1/experiments/{experiment}/kill")
    assert skewed.wait(experiment) == "CANCELED"
    [trial] = skewed.trials(experiment)
    assert "did not leave within 4 s of this request" in skewed.text(trial["id"])


@pytest.mark.parametrize("by_s", [2 * HOUR_S, -2 * HOUR_S], ids=["ahead", "back"])
def test_running_work_survives_a_jump_of_the_clock_and_new_work_starts(
    skewed: Cluster, clocks: dict[str, Path], by_s: float
) -> None:
    held = Held(skewed, f"jump {by_s}")
    held.began()
    jump(clocks, by_s)
    after: Any = skewed.submit(config("true"), {})
    assert skewed.wait(after) == "COMPLETED"
    assert skewed.connected() == ["agent-0"]
    assert held.end() == "COMPLETED"
    assert held.runs() == [1]
