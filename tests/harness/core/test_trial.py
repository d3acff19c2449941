"""A trial that uses the Core API, as a real process, against a double of the master."""

from __future__ import annotations

import json
import subprocess
import threading
from typing import Any

import pytest
from tests.harness.conftest import Task
from tests.harness.master_double import MasterDouble, until

from determined.core._metrics import BATCH_REPORTS

pytestmark = [pytest.mark.slow, pytest.mark.e2e]

TRAIN = """
import determined as det
from determined import core
with core.init() as context:
    for step in range(1, 4):
        context.train.report_training_metrics(step, {"loss": 1 / step, "odd": float("nan")})
    context.train.report_validation_metrics(3, {"loss": 0.25})
    context.train.report_progress(0.5)
    context.train.set_status("thinking")
    with context.checkpoint.store_path({"steps_completed": 3}) as (path, uuid):
        (path / "weights").write_bytes(b"12345")
    print(uuid)
"""


def test_reports_and_checkpoints_arrive(task: Task, master: MasterDouble, python: str) -> None:
    done = task.run_script(python, TRAIN)
    assert done.returncode == 0, done.stderr
    uuid = done.stdout.strip()
    reports = master.reports()
    assert [(r["group"], r["metrics"]["stepsCompleted"]) for r in reports] == [
        ("training", 1),
        ("training", 2),
        ("training", 3),
        ("validation", 3),
    ]
    first = reports[0]["metrics"]
    assert (first["trialId"], first["trialRunId"]) == (3, 1)
    assert first["metrics"]["avgMetrics"] == {"loss": 1.0, "odd": "NaN"}
    (checkpoint,) = master.named("POST", "/api/v1/checkpoints")
    assert checkpoint.body["uuid"] == uuid
    assert checkpoint.body["resources"] == {"weights": "5", "metadata.json": "26"}
    assert checkpoint.body["metadata"] == {"steps_completed": 3}
    assert (checkpoint.body["state"], checkpoint.body["storageId"]) == ("STATE_COMPLETED", 7)
    assert json.loads((task.storage / uuid / "metadata.json").read_text()) == {
        "steps_completed": 3
    }
    assert master.named("POST", "/progress")[0].body == {"progress": 0.5, "is_raw": True}
    assert master.named("POST", "/runner/metadata")[0].body == {"state": "thinking"}
    assert "reported no metrics" not in done.stderr
    events = list(task.storage.glob("cluster/tensorboard/experiment/2/trial/3/events.out.*"))
    assert len(events) == 1


def test_reports_are_logged(task: Task, master: MasterDouble, python: str) -> None:
    done = task.run_script(
        python,
        "import logging\n"
        "from determined import LOG_FORMAT, core\n"
        "logging.basicConfig(level=logging.INFO, format=LOG_FORMAT)\n"
        "with core.init() as context:\n"
        "    context.train.report_validation_metrics(3.0, {'loss': 0.5})\n",
    )
    assert done.returncode == 0, done.stderr
    assert "determined.core: validation metrics at step 3: {'loss': 0.5}" in done.stderr
    assert [r["metrics"]["stepsCompleted"] for r in master.reports()] == [3]


@pytest.mark.parametrize("refusal", [None, {"error": {"code": 8, "error": "too many wait"}}])
def test_an_alert_reaches_the_master_and_a_refused_one_ends_no_training(
    task: Task, master: MasterDouble, python: str, refusal: object
) -> None:
    master.on("POST", "/webhooks/custom$", (400, refusal) if refusal else (200, {}))
    done = task.run_script(
        python,
        "from determined import core\n"
        "with core.init() as context:\n"
        "    context.alert('slow', 'the disk', 'warn')\n",
    )
    assert done.returncode == 0, done.stderr
    told = "the alert (warn) slow: the disk was not sent"
    assert (told in done.stderr) is (refusal is not None)
    (call,) = master.named("POST", "/webhooks/custom")
    told = {"title": "slow", "description": "the disk", "level": "LOG_LEVEL_WARNING"}
    assert call.body == {"data": told, "experimentId": 2, "trialId": 3}


def test_reports_of_a_forked_process_arrive(task: Task, master: MasterDouble, python: str) -> None:
    done = task.run_script(
        python,
        "import multiprocessing\n"
        "from determined import core\n"
        "with core.init() as context:\n"
        "    context.train.report_training_metrics(1, {'loss': 1.0})\n"
        "    def work():\n"
        "        context.train.report_training_metrics(2, {'loss': 2.0})\n"
        "    child = multiprocessing.get_context('fork').Process(target=work)\n"
        "    child.start()\n"
        "    child.join()\n"
        "    assert child.exitcode == 0\n"
        "    context.train.report_training_metrics(3, {'loss': 3.0})\n",
    )
    assert done.returncode == 0, done.stderr
    steps = [r["metrics"]["stepsCompleted"] for r in master.reports()]
    assert sorted(steps) == [1, 2, 3]


def test_files_for_tensorboard_go_where_scripts_of_old_put_them(
    task: Task, master: MasterDouble, python: str
) -> None:
    done = task.run_script(
        python,
        "import os, pathlib, tempfile\n"
        "from determined import core\n"
        "with core.init() as context:\n"
        "    old = pathlib.Path(tempfile.gettempdir(), 'tensorboard')\n"
        "    assert old.samefile(context.train.get_tensorboard_path())\n"
        "    (old / 'mine').write_text('1')\n",
    )
    assert done.returncode == 0, done.stderr
    assert (task.storage / "cluster/tensorboard/experiment/2/trial/3/mine").exists()


def test_in_manual_mode_only_what_is_asked_for_is_stored(
    task: Task, master: MasterDouble, python: str
) -> None:
    done = task.run_script(
        python,
        "from determined import core\n"
        "with core.init(tensorboard_mode=core.TensorboardMode.MANUAL) as context:\n"
        "    folder = context.train.get_tensorboard_path()\n"
        "    (folder / 'mine').write_text('1')\n"
        "    (folder / 'scratch').write_text('1')\n"
        "    context.train.upload_tensorboard_files(\n"
        "        lambda p: p.name == 'mine', lambda p, rank: p.with_name(f'{p.name}#{rank}')\n"
        "    )\n",
    )
    assert done.returncode == 0, done.stderr
    stored = task.storage / "cluster/tensorboard/experiment/2/trial/3"
    assert [path.name for path in stored.iterdir()] == ["mine#0"]


def test_a_checkpoint_never_overtakes_the_metrics_before_it(
    task: Task, master: MasterDouble, python: str
) -> None:
    task.run_script(python, TRAIN)
    order = [c.path.rpartition("/")[2] for c in master.calls if c.method == "POST"]
    assert max(i for i, p in enumerate(order) if p in ("metrics", "batch")) < order.index(
        "checkpoints"
    )


@pytest.mark.parametrize(
    ("ending", "code"),
    [("", 0), ("sys.exit(6)", 6), ("raise ValueError('mine')", 1), ("os.chdir('/')", 0)],
)
def test_reports_are_sent_however_the_process_exits(
    task: Task, master: MasterDouble, python: str, ending: str, code: int
) -> None:
    done = task.run_script(
        python,
        "import os, sys\n"
        "from determined import core\n"
        "context = core.init()\n"
        "context.start()\n"
        "for step in range(1, 2001):\n"
        "    context.train.report_training_metrics(step, {'loss': 1.0})\n" + ending,
    )
    assert done.returncode == code, done.stderr
    steps = [r["metrics"]["stepsCompleted"] for r in master.reports()]
    assert steps == list(range(1, 2001))


def test_pending_reports_are_sent_in_one_batch(
    task: Task, master: MasterDouble, python: str
) -> None:
    """While the master takes its time over the first report, the others gather."""
    made = task.root / "made"
    master.on("POST", "/metrics$", lambda _: until(made.exists, "all reports") and (200, {}))
    done = task.run_script(
        python,
        "import pathlib, time\n"
        "from determined import core\n"
        "with core.init() as context:\n"
        "    context.train.report_training_metrics(0, {'loss': 1.0})\n"
        "    while context._metrics._spool: time.sleep(0.001)\n"
        "    for step in range(1, 2001):\n"
        "        context.train.report_training_metrics(step, {'loss': 1.0})\n"
        f"    pathlib.Path({str(made)!r}).touch()\n",
    )
    assert done.returncode == 0, done.stderr
    assert len(master.named("POST", "/metrics/batch")) <= 2000 // BATCH_REPORTS + 1


def test_a_master_without_the_bulk_route_gets_single_reports(
    task: Task, master: MasterDouble, python: str
) -> None:
    master.on("POST", "/metrics/batch$", (501, {"error": {"code": 12, "error": "Unimplemented"}}))
    done = task.run_script(
        python,
        "from determined import core\n"
        "with core.init() as context:\n"
        "    for step in range(1, 51):\n"
        "        context.train.report_training_metrics(step, {'loss': 1.0})\n",
    )
    assert done.returncode == 0, done.stderr
    singles = [c.body["metrics"]["stepsCompleted"] for c in master.named("POST", "3/metrics")]
    assert singles == list(range(1, 51))
    assert len(master.named("POST", "/metrics/batch")) <= 1


def test_a_master_that_is_away_for_a_while_loses_nothing(
    task: Task, python: str, unused_port: int
) -> None:
    with MasterDouble(unused_port) as first:
        task.env["DET_MASTER"] = first.url
        script = task.root / "script.py"
        script.write_text(
            "import sys\n"
            "from determined import core\n"
            "with core.init() as context:\n"
            "    context.train.report_validation_metrics(1, {'loss': 1.0})\n"
            "    print('one', flush=True)\n"
            "    sys.stdin.readline()\n"
            "    for step in range(2, 30):\n"
            "        context.train.report_validation_metrics(step, {'loss': 1.0})\n"
            "    print('all', flush=True)\n"
        )
        task.config["entrypoint"] = [python, "-S", str(script)]
        p = task.start(
            [python, "-S", "-m", "determined.exec.entry", "trial"], stdin=subprocess.PIPE
        )
        assert p.stdout is not None
        assert p.stdin is not None
        assert p.stdout.readline() == "one\n"
        until(lambda: first.reports(), "the first report arrived")
    p.stdin.write("\n")
    p.stdin.flush()
    assert p.stdout.readline() == "all\n"
    with MasterDouble(unused_port) as second:
        _, err = p.communicate(timeout=60)
        assert p.returncode == 0, err
        steps = [r["metrics"]["stepsCompleted"] for r in second.reports()]
    # The first master may have ended before its answer to step 1 arrived: it is sent again then.
    assert sorted({1, *steps}) == list(range(1, 30))


def test_a_refused_report_is_raised_and_named(
    task: Task, master: MasterDouble, python: str
) -> None:
    master.on("POST", "3/metrics$", (400, {"error": {"code": 3, "error": "not your run"}}))
    done = task.run_script(
        python,
        "from determined import core\n"
        "with core.init() as context:\n"
        "    context.train.report_validation_metrics(1, {'loss': 1.0})\n",
    )
    assert done.returncode == 1
    assert "the master refused the validation metrics at step 1: not your run" in done.stderr


@pytest.mark.parametrize("kind", ["TRIAL", "GENERIC"])
def test_a_preempted_task_acknowledges_once(
    task: Task, master: MasterDouble, python: str, kind: str
) -> None:
    script = (
        "import time\n"
        "from determined import core\n"
        "with core.init() as context:\n"
        "    print('ready', flush=True)\n"
        "    while not context.preempt.should_preempt():\n"
        "        time.sleep(0.01)\n"
        "    assert context.preempt.should_preempt()\n"
        "    assert context.info.allocation_id == '1.abc.1'\n"
    )
    (task.root / "script.py").write_text(script)
    program = [python, "-S", str(task.root / "script.py")]
    task.config["entrypoint"] = program
    task.env["DET_TASK_TYPE"] = kind
    words = ["trial"] if kind == "TRIAL" else ["command", *program]
    p = task.start([python, "-S", "-m", "determined.exec.entry", *words])
    assert p.stdout is not None
    assert p.stdout.readline() == "ready\n"
    master.preempt.set()
    _, err = p.communicate(timeout=60)
    assert p.returncode == 0, err
    assert len(master.named("POST", "/ack_preemption")) == 1
    assert len(master.named("POST", "/ready")) == (kind == "GENERIC")


def test_invalid_hyperparameters_are_reported_and_end_with_0(
    task: Task, master: MasterDouble, python: str
) -> None:
    done = task.run_script(
        python,
        "import determined as det\n"
        "from determined import core\n"
        "with core.init() as context:\n"
        "    raise det.InvalidHP('too large')\n",
    )
    assert done.returncode == 0, done.stderr
    assert master.named("POST", "/early_exit")[0].body == {"reason": "EXITED_REASON_INVALID_HP"}


def test_a_token_that_dies_while_training_ends_with_one_line_and_83(
    task: Task, master: MasterDouble, python: str
) -> None:
    master.on("POST", "3/metrics", (401, {"error": {"code": 16, "error": "invalid credentials"}}))
    done = task.run_script(
        python,
        "import time\n"
        "from determined import core\n"
        "with core.init() as context:\n"
        "    while True:\n"
        "        context.train.report_training_metrics(1, {'loss': 1.0})\n"
        "        time.sleep(0.01)\n",
    )
    assert done.returncode == 83
    assert done.stderr.count("no longer accepts this task's token") == 1
    assert "Traceback" not in done.stderr


def test_several_slots_need_ranks(task: Task, master: MasterDouble, python: str) -> None:
    found = {"addresses": ["127.0.0.1"], "rank": 0, "slots": [2]}
    master.on("GET", "/rendezvous$", (200, {"rendezvousInfo": found}))
    done = task.run_script(python, "from determined import core\ncore.init()\n")
    assert done.returncode == 1
    assert "determined.launch.simple" in done.stderr


def test_the_same_script_runs_off_the_cluster(task: Task, python: str) -> None:
    script = task.root / "train.py"
    script.write_text(TRAIN)
    env = {k: v for k, v in task.env.items() if not k.startswith("DET_")}
    env["XDG_DATA_HOME"] = str(task.root / "data")
    done = subprocess.run(
        [python, "-S", str(script)], env=env, capture_output=True, text=True, timeout=90
    )
    assert done.returncode == 0, done.stderr
    uuid = done.stdout.strip()
    assert (task.root / "data/determined/checkpoints" / uuid / "weights").exists()


def test_the_profiler_reports_the_machine(task: Task, master: MasterDouble, python: str) -> None:
    seen = task.root / "seen"
    running = threading.Thread(
        target=task.run_script,
        args=(
            python,
            "import os, time\n"
            "from determined import core\n"
            "with core.init() as context:\n"
            "    context.profiler.on(sampling_interval=0.1, samples_per_report=1)\n"
            f"    while not os.path.exists({str(seen)!r}): time.sleep(0.01)\n",
        ),
    )
    running.start()

    def groups_of() -> dict[str, Any]:
        return {r["group"]: r["metrics"] for r in master.reports()}

    try:
        until(lambda: {"cpu", "memory", "disk", "network"} <= set(groups_of()), "all groups")
    finally:
        seen.touch()
        running.join()
    groups = groups_of()
    assert "stepsCompleted" not in groups["memory"]
    free = groups["memory"]["metrics"]["avgMetrics"]["agent"]["memory_free"]
    assert free > 1 << 20  # in bytes
