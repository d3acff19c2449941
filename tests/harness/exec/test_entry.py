"""The entry chain as an agent runs it, against a double of the master."""

from __future__ import annotations

import json
import resource
import signal
import subprocess
import sys
from collections.abc import Callable
from typing import Any

import pytest
from tests.covers import covers
from tests.harness.conftest import Task
from tests.harness.master_double import MasterDouble, until

pytestmark = [pytest.mark.slow, pytest.mark.e2e]


def test_a_trial_is_prepared_and_run(task: Task, master: MasterDouble, python: str) -> None:
    master.serve_files({"train.py": "import os; print('in', os.getcwd())", "lib/x.txt": "x"})
    task.config["entrypoint"] = [python, "-S", "train.py"]
    done = task.enter(python)
    assert done.returncode == 0, done.stderr
    assert done.stdout == f"in {task.work_dir}\n"
    for folder in (task.work_dir, task.run_dir / "train" / "model"):
        assert (folder / "lib" / "x.txt").read_text() == "x"
    info = task.run_dir / "info"
    cluster = json.loads((info / "cluster.json").read_text())
    assert cluster["session_token"] == "token"
    assert (info / "cluster.json").stat().st_mode & 0o077 == 0
    assert json.loads((info / "rendezvous.json").read_text()) == {
        "container_addrs": ["127.0.0.1"],
        "container_rank": 0,
        "container_slot_counts": [1],
    }
    trial = json.loads((info / "trial.json").read_text())
    assert (trial["trial_id"], trial["hparams"]) == (3, {"lr": 0.1})
    assert all(
        c.headers["Grpc-Metadata-x-allocation-token"] == "Bearer token" for c in master.calls
    )
    assert list(task.storage.iterdir()) == []
    until(lambda: master.named("POST", "/acceleratorData"), "the accelerators were reported")


def test_the_only_pod_of_a_trial_waits_for_no_rendezvous_and_reports_that_it_is_ready(
    task: Task, master: MasterDouble, python: str
) -> None:
    task.env.update(
        DET_RESOURCES_TYPE="k8s-job",
        DET_RENDEZVOUS="master",
        DET_KUBERNETES_JOB_PARALLELISM="1",
        DET_KUBERNETES_POD_IP="10.2.0.3",
        DET_SLOT_IDS="[0,1]",
    )
    released = task.root / "released"
    task.config["entrypoint"] = f"while [ ! -e {released} ]; do sleep 0.05; done"
    with task.start([python, "-S", "-m", "determined.exec.entry", "trial"]) as process:
        try:
            until(lambda: master.named("POST", "/ready"), "it is ready")
        finally:
            released.touch()
        _, said = process.communicate(timeout=60)
    assert process.returncode == 0, said
    assert not master.named("GET", "/rendezvous")
    assert json.loads((task.run_dir / "info" / "rendezvous.json").read_text()) == {
        "container_addrs": ["10.2.0.3"],
        "container_rank": 0,
        "container_slot_counts": [2],
    }


def test_the_log_shows_the_steps_and_no_secret(task: Task, python: str) -> None:
    done = task.enter(python)
    lines = [line.partition("] ")[2] for line in done.stderr.splitlines()]
    assert lines[0].startswith("determined: detected 0 gpus")
    assert lines[1].startswith("determined: Running task container on agent_id=agent, hostname=")
    runner = "determined: New trial runner in (container container) on agent agent."
    assert lines[2] == runner  # the configuration is in `det experiment config`
    assert lines[3] == "determined: Validating checkpoint storage ..."
    assert lines[4] == "determined: Launching: ['sh', '-c', 'true']"
    assert lines[5].endswith("it reported no metrics")
    assert "hush-hush" not in done.stderr
    assert done.stderr.startswith("INFO: [")


def test_a_report_that_left_no_mark_is_known_by_the_master(
    task: Task, master: MasterDouble, python: str
) -> None:
    summary = {"validation_metrics": {"loss": {"count": 1}}}
    master.on("GET", r"/trials/3$", (200, {"trial": {"summaryMetrics": summary}}))
    assert "no metrics" not in task.enter(python).stderr
    master.on("GET", r"/trials/3$", (500, {}))
    assert "no metrics" not in task.enter(python).stderr


@covers("experiment-config 3.string")
def test_the_exit_code_passes_through(task: Task, python: str) -> None:
    task.config["entrypoint"] = "exit 23"
    assert task.enter(python).returncode == 23


@covers("experiment-config 3.list")
def test_a_missing_program_is_127_and_named(task: Task, python: str) -> None:
    task.config["entrypoint"] = ["no-such-program", "x"]
    done = task.enter(python)
    assert done.returncode == 127
    assert "'no-such-program' was not found" in done.stderr
    assert "Traceback" not in done.stderr


@covers("experiment-config 3.string")
def test_a_missing_program_in_a_shell_line_is_127_and_named(task: Task, python: str) -> None:
    task.config["entrypoint"] = "./no-such-script.sh --x"
    done = task.enter(python)
    assert done.returncode == 127
    assert "'./no-such-script.sh --x' exited with code 127" in done.stderr


def test_a_file_that_may_not_be_executed_is_126_and_named(
    task: Task, master: MasterDouble, python: str
) -> None:
    master.serve_files({"run.sh": "#!/bin/sh\n"})
    task.config["entrypoint"] = ["./run.sh"]
    done = task.enter(python)
    assert done.returncode == 126
    assert "'./run.sh' is not executable" in done.stderr
    assert "chmod +x" in done.stderr


def test_a_death_by_signal_is_128_and_the_signal(task: Task, python: str) -> None:
    task.config["entrypoint"] = ["sh", "-c", "kill -9 $$"]
    done = task.enter(python)
    assert done.returncode == 137
    assert "was killed by signal 9 (SIGKILL); often" in done.stderr


@covers("experiment-config 3.bootstrap")
def test_a_signal_is_handed_on(task: Task, master: MasterDouble, python: str) -> None:
    task.config["entrypoint"] = [
        python,
        "-S",
        "-c",
        "import signal, sys\n"
        "signal.signal(signal.SIGTERM, lambda *_: sys.exit(5))\n"
        "print('ready', flush=True)\n"
        "signal.pause()",
    ]
    p = task.start([python, "-S", "-m", "determined.exec.entry", "trial"])
    assert p.stdout is not None
    assert p.stdout.readline() == "ready\n"
    p.send_signal(signal.SIGTERM)
    p.communicate(timeout=60)
    assert p.returncode == 5


SAVES = """
import os, signal, sys, threading
signal.signal(signal.SIGTERM, lambda *_: sys.exit(5))
print("ready", flush=True)
for line in sys.stdin:
    sys.exit(int(line))
"""


def evicted(task: Task, python: str, save_s: int) -> subprocess.Popen[str]:
    """A trial in a pod, whose program ends by a line of its input, or with 5 by a signal."""
    task.config["entrypoint"] = [python, "-S", "-c", SAVES]
    command = [python, "-S", "-m", "determined.exec.entry", "trial"]
    env = {"DET_EVICTION_SAVE_S": str(save_s)}
    p = task.start(command, stdin=subprocess.PIPE, env=env)
    assert p.stdout is not None
    assert p.stdout.readline() == "ready\n"
    p.send_signal(signal.SIGTERM)
    return p


def test_an_evicted_trial_that_was_preempted_gets_its_time(
    task: Task, master: MasterDouble, python: str
) -> None:
    master.preempt.set()
    p = evicted(task, python, save_s=60)
    assert p.stderr is not None
    assert any(
        "the trial has 60 s to save its work" in line for line in iter(p.stderr.readline, "")
    )
    p.communicate("0\n", timeout=60)
    assert p.returncode == 0


def test_an_evicted_trial_is_signalled_when_its_time_is_over(
    task: Task, master: MasterDouble, python: str
) -> None:
    master.preempt.set()
    p = evicted(task, python, save_s=1)
    p.wait(60)
    assert p.returncode == 5
    p.communicate()


def test_a_trial_that_is_killed_and_not_preempted_is_signalled_soon(
    task: Task, master: MasterDouble, python: str
) -> None:
    p = evicted(task, python, save_s=3000)
    p.wait(60)
    assert p.returncode == 5
    p.communicate()


def test_a_trial_is_signalled_where_the_master_does_not_answer(
    task: Task, master: MasterDouble, python: str
) -> None:
    master.on("GET", "/signals/preemption$", (500, {}))
    p = evicted(task, python, save_s=3000)
    p.wait(60)
    assert p.returncode == 5
    p.communicate()


@covers("experiment-config 3.startup_hook")
def test_hooks_are_sourced_before_the_rendezvous(
    task: Task, master: MasterDouble, python: str
) -> None:
    master.serve_files(
        {"startup-hook.sh": "export FROM_HOOK=$FROM_ADMIN/user; ulimit -n 77; cd lib", "lib/x": ""}
    )
    task.run_dir.mkdir()
    (task.run_dir / "dynamic-tcd-startup-hook.sh").write_text("export FROM_ADMIN=admin\n")
    task.config["entrypoint"] = "echo $FROM_HOOK; ulimit -n; pwd"
    done = task.enter(python)
    assert done.returncode == 0, done.stderr
    assert done.stdout == f"admin/user\n77\n{task.work_dir}/lib\n"
    assert "+ export FROM_ADMIN=admin" in done.stderr
    assert [c.path.rpartition("/")[2] for c in master.calls][:2] == [
        "context_directory",
        "rendezvous",
    ]


def test_a_hook_that_fails_fails_the_task(task: Task, master: MasterDouble, python: str) -> None:
    master.serve_files({"startup-hook.sh": "false\ntouch went-on\n"})
    done = task.enter(python)
    assert done.returncode == 1
    assert not (task.work_dir / "went-on").exists()
    assert master.named("GET", "/rendezvous") == []


def test_a_dead_token_ends_the_task_with_its_own_code(
    task: Task, master: MasterDouble, python: str
) -> None:
    master.on("GET", "/context_directory$", (401, {"error": {"error": "token missing"}}))
    done = task.enter(python)
    assert done.returncode == 83
    assert len(done.stderr.splitlines()) == 1
    assert "no longer accepts this task's token" in done.stderr
    assert len(master.named("GET", "/context_directory")) == 2


def test_storage_that_cannot_be_written_is_named(task: Task, python: str) -> None:
    task.env["DET_SHARED_FS_PATH"] = "/proc/nowhere"
    done = task.enter(python)
    assert done.returncode == 1
    assert "checkpoint storage of type shared_fs cannot be used" in done.stderr
    assert "Traceback" not in done.stderr


# Stands for torch's launcher: tells its arguments, and runs the one rank.
LAUNCHER = """
import os, subprocess, sys
print("torch's launcher:", *sys.argv[1:sys.argv.index("--module")])
rank = [sys.executable, "-m", *sys.argv[sys.argv.index("--module") + 1 :]]
sys.exit(subprocess.call(rank, env={**os.environ, "RANK": "0"}))
"""


@covers("experiment-config 3.trial_class")
def test_a_trial_class_is_run_by_torchs_launcher_and_deprecated(
    task: Task, master: MasterDouble, python: str
) -> None:
    master.serve_files(
        {
            "model_def.py": "class Plain:\n    pass\n",
            "torch/__init__.py": "",
            "torch/distributed/__init__.py": "",
            "torch/distributed/run.py": LAUNCHER,
        }
    )
    task.config["entrypoint"] = "model_def:Plain"
    task.env["DET_PYTHON_EXECUTABLE"] = python
    done = task.enter(python)
    assert done.returncode == 1
    assert "--nnodes 1 --nproc_per_node 1 --node_rank 0 --max_restarts 0" in done.stdout
    assert "FutureWarning: --trial is deprecated" in done.stderr
    assert "is not a subclass of determined.pytorch.PyTorchTrial, " in done.stderr


@pytest.mark.parametrize(
    ("code", "text"),
    [
        (
            "from determined.pytorch import PyTorchTrial",
            "determined.pytorch needs PyTorch, which this Python",
        ),
        ("class Model: pass", "'model_def:Model' is not a subclass of determined.pytorch"),
    ],
)
def test_a_trial_class_without_pytorch_is_run_and_has_a_remedy(
    task: Task, master: MasterDouble, python: str, code: str, text: str
) -> None:
    """A trial class of Keras does not need PyTorch."""
    master.serve_files({"model_def.py": code})
    task.config["entrypoint"] = "model_def:Model"
    task.env["DET_PYTHON_EXECUTABLE"] = python
    done = task.enter(python)
    assert done.returncode == 1
    assert text in done.stderr


def test_several_slots_of_a_trial_class_need_pytorch(task: Task, python: str) -> None:
    task.config["entrypoint"] = "model_def:Model"
    task.env.update({"DET_PYTHON_EXECUTABLE": python, "DET_SLOT_IDS": "[0, 1]"})
    done = task.enter(python)
    assert done.returncode == 1
    assert "torch_distributed needs PyTorch, which this Python does not have" in done.stderr


def test_a_command_runs_in_its_directory(task: Task, master: MasterDouble, python: str) -> None:
    master.serve_files({"a.txt": "content"})
    task.env["DET_TASK_TYPE"] = "COMMAND"
    done = task.enter(python, "command", "cat a.txt; exit 4")
    assert (done.returncode, done.stdout) == (4, "content")
    done = task.enter(python, "command", "printf", "%s|", "a b", "c")
    assert (done.returncode, done.stdout) == (0, "a b|c|")
    assert not (task.run_dir / "info" / "trial.json").exists()


def test_a_program_of_a_gang_runs_once_all_containers_do_and_knows_its_place(
    task: Task, master: MasterDouble, python: str
) -> None:
    met = {"addresses": ["127.0.0.1"], "rank": 0, "slots": [2]}
    master.on("GET", "/rendezvous$", (200, {"rendezvousInfo": met}))
    task.env["DET_TASK_TYPE"] = "GENERIC"
    shown = "echo $DET_CONTAINER_RANK $DET_CHIEF_IP $DET_CONTAINER_ADDRS; exit 4"
    done = task.enter(python, "gang", shown)
    assert (done.returncode, done.stdout) == (4, "0 127.0.0.1 127.0.0.1\n"), done.stderr
    assert json.loads((task.run_dir / "info" / "rendezvous.json").read_text()) == {
        "container_addrs": ["127.0.0.1"],
        "container_rank": 0,
        "container_slot_counts": [2],
    }
    assert task.enter(python, "gang").returncode == 2


def test_a_missing_variable_is_named(task: Task, python: str) -> None:
    del task.env["DET_CLUSTER_ID"]
    done = task.enter(python)
    assert done.returncode == 1
    assert "the variable DET_CLUSTER_ID is not set" in done.stderr


def test_the_chain_costs_little(task: Task, master: MasterDouble) -> None:
    """Little more than Python: 0.09 s where a start with three of its modules takes 0.03."""
    master.serve_files({f"f{i}.py": "x = 1\n" * 50 for i in range(20)})
    task.env.pop("PYTHONDONTWRITEBYTECODE")
    task.enter(sys.executable)
    bare = [sys.executable, "-S", "-c", "import argparse, json, ssl"]

    def spent_s(run: Callable[[], Any]) -> float:
        before = resource.getrusage(resource.RUSAGE_CHILDREN)
        run()
        after = resource.getrusage(resource.RUSAGE_CHILDREN)
        return after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime

    chain = min(spent_s(lambda: task.enter(sys.executable)) for _ in range(3))
    assert chain < 8 * min(spent_s(lambda: subprocess.run(bare, check=True)) for _ in range(3))
