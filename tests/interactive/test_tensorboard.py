"""TensorBoards with the real tool, on files of our own writer."""

from __future__ import annotations

import json
import sys
import urllib.error
import urllib.request
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from tests.covers import covers
from tests.harness.master_double import MasterDouble
from tests.interactive.conftest import Running, Starter, patched
from tests.object_server import ObjectServer, object_server

from determined import tensorboard
from determined.tensorboard import _manager
from determined.tensorboard._events import EventFile
from determined_master.domain.interactive_task.tensorboard_sources import LogSource
from determined_master.services.containers.interactive_specs import TaskSecrets

pytestmark = [pytest.mark.slow, pytest.mark.e2e]
OFTEN = (
    "from determined.exec import tensorboard as t; "
    "t.TIMEOUTS = t.TIMEOUTS._replace(list_s=0.2, look_s=0.2)"
)
KEY = "the-key"
SECRETS = TaskSecrets(service_key=KEY)
HASTY = f"{OFTEN}; t.TIMEOUTS = t.TIMEOUTS._replace(files_s=1.0)"


@pytest.fixture(scope="module")
def objects() -> Iterator[ObjectServer]:
    with object_server() as server:
        yield server


def write(storage: dict[str, Any], trial: int, values: list[float], scratch: Path) -> None:
    """Report metrics of experiment 2 as a trial does."""
    sync = tensorboard.get_sync_path("cluster", "2", str(trial))
    local = scratch / f"local-{trial}-{len(values)}"
    with _manager.build(storage, sync, async_upload=False, base_path=local) as manager:
        file = EventFile(local)
        for step, value in enumerate(values):
            file.add_scalar("Determined/val_loss", value, step, 1.0 + step)
        file.close()
        manager.sync()


def source(storage: dict[str, Any], trial: int | None = None) -> LogSource:
    return LogSource(experiment_id=2, trial_id=trial, config={"checkpoint_storage": storage})


def asked(running: Running, key: str) -> int:
    """The status that somebody with another key is answered with."""
    address = f"http://127.0.0.1:{running.port}/proxy/1.abc/data/runs"
    request = urllib.request.Request(address, headers={"X-Determined-Service-Key": key})
    with pytest.raises(urllib.error.HTTPError) as refused:
        urllib.request.urlopen(request, timeout=30)
    with refused.value as answer:
        return answer.code


def call(running: Running, path: str) -> Any:
    address = f"http://127.0.0.1:{running.port}/proxy/1.abc/{path}"
    request = urllib.request.Request(address, headers={"X-Determined-Service-Key": KEY})
    with urllib.request.urlopen(request, timeout=30) as answer:
        return json.loads(answer.read())


@covers("task-contract 3.1.tensorboard 7.4.directories 7.4.prefix 7.4.fetch")
def test_trials_of_several_storages_are_shown_and_followed(
    start: Starter,
    master: MasterDouble,
    tools: str,
    tmp_path: Path,
    objects: ObjectServer,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setenv("STORAGE_EMULATOR_HOST", objects.url)
    google = {"type": "gcs", "bucket": objects.new_bucket()}
    bucket = {
        "type": "s3",
        "bucket": objects.new_bucket(),
        "access_key": "mine",
        "secret_key": "hush-hush",
        "endpoint_url": objects.url,
        "prefix": "below",
    }
    shared = {"type": "shared_fs", "host_path": str(tmp_path / "host"), "storage_path": "in"}
    folder = {"type": "directory", "container_path": str(tmp_path / "folder")}
    on_host = {"type": "directory", "container_path": str(tmp_path / "host" / "in")}
    write(on_host, 1, [0.5, 0.25], tmp_path)
    write(folder, 2, [4.0], tmp_path)
    write(bucket, 3, [8.0], tmp_path)
    write(google, 5, [16.0], tmp_path)
    running = start(
        "TENSORBOARD",
        patched(tmp_path, [tools], OFTEN),
        SECRETS,
        sources=[source(shared, 1), source(folder, 2), source(bucket), source(google, 5)],
        tensorboard_args=["--window_title=Mine"],
        env={"STORAGE_EMULATOR_HOST": objects.url},
    )
    running.wait_for(lambda: master.named("POST", "/1.abc.1/ready"), "it is ready", 120)
    runs = [f"cluster/tensorboard/experiment/2/trial/{n}" for n in (1, 2, 3, 5)]
    running.wait_for(lambda: sorted(call(running, "data/runs")) == runs, "its runs are shown")
    assert call(running, "data/environment")["window_title"] == "Mine"

    def values(run: str) -> list[float]:
        path = f"data/plugin/scalars/scalars?run={run}&tag=Determined%2Fval_loss"
        return [point[2] for point in call(running, path)]

    assert values(runs[0]) == [0.5, 0.25]
    assert asked(running, "") == asked(running, "another-key") == 403
    assert [values(run) for run in runs[1:]] == [[4.0], [8.0], [16.0]]
    write(bucket, 4, [1.0, 2.0], tmp_path)
    later = "cluster/tensorboard/experiment/2/trial/4"
    running.wait_for(lambda: later in call(running, "data/runs"), "a later run is shown")
    assert values(later) == [1.0, 2.0]
    assert master.named("POST", "/waiting") == []
    assert "hush-hush" not in running.text
    running.end()
    assert "exited unexpectedly" not in running.text


@covers("task-contract 3.8.tensorboard")
def test_metrics_that_come_later_are_waited_for(
    start: Starter, master: MasterDouble, tools: str, tmp_path: Path
) -> None:
    folder = {"type": "directory", "container_path": str(tmp_path / "folder")}
    running = start(
        "TENSORBOARD", patched(tmp_path, [tools], OFTEN), SECRETS, sources=[source(folder)]
    )
    running.wait_for(lambda: master.named("POST", "/1.abc.1/waiting"), "it waits", 120)
    assert master.named("POST", "/ready") == []
    write(folder, 1, [1.0], tmp_path)
    running.wait_for(lambda: master.named("POST", "/1.abc.1/ready"), "it is ready")


@covers("task-contract 7.4.no_file")
def test_no_file_in_time_is_named(start: Starter, tools: str, tmp_path: Path) -> None:
    folder = {"type": "directory", "container_path": str(tmp_path / "folder")}
    running = start(
        "TENSORBOARD", patched(tmp_path, [tools], HASTY), SECRETS, sources=[source(folder, 5)]
    )
    assert running.process.wait(120) == 1
    where = tmp_path / "folder" / "cluster/tensorboard/experiment/2/trial/5"
    assert f"found no event files within 1 s in {where} (experiment 2, trial 5)" in running.text


@covers("task-contract 7.4.death")
def test_the_tools_own_end_is_an_error(start: Starter, tools: str, tmp_path: Path) -> None:
    folder = {"type": "directory", "container_path": str(tmp_path / "folder")}
    running = start(
        "TENSORBOARD",
        [tools],
        SECRETS,
        sources=[source(folder)],
        tensorboard_args=["--no_such_option"],
    )
    assert running.process.wait(120) == 2
    assert "no_such_option" in running.text
    assert "TensorBoard exited unexpectedly with code 2" in running.text


def test_without_tensorboard_the_log_names_the_remedy(start: Starter, tmp_path: Path) -> None:
    folder = {"type": "directory", "container_path": str(tmp_path)}
    bare = [sys.executable, "-S"]
    running = start(
        "TENSORBOARD", bare, SECRETS, sources=[source(folder)], env={"PATH": "/nowhere"}
    )
    assert running.process.wait(60) == 127
    assert "pip install tensorboard)" in running.text
    assert "Traceback" not in running.text
