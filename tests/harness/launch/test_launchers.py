"""The commands of the launchers, marked output, and monitoring of ranks."""

from __future__ import annotations

import io
import os
import pathlib
import signal
import subprocess
import sys
from collections.abc import Callable
from typing import Any

import pytest
from tests.covers import covers
from tests.harness.conftest import SOURCE

from determined._info import ClusterInfo, RendezvousInfo, ResourcesInfo, TrialInfo
from determined.launch import deepspeed, horovod, simple, tensorflow, torch_distributed, wrap_rank


def info(rank: int = 0) -> ClusterInfo:
    return ClusterInfo(
        "http://m:1",
        "c",
        "agent",
        [0, 1],
        "1.t",
        "1.t.1",
        "token",
        "TRIAL",
        trial_info=TrialInfo(1, 1, 0, {}, {"optimizations": {}}),
        rendezvous_info=RendezvousInfo(["10.0.0.1", "10.0.0.2"], rank, [2, 2]),
        resources_info=ResourcesInfo([]),
    )


@covers("experiment-config 3.launch_layers")
def test_torch_gets_its_overrides_and_a_watched_marked_script() -> None:
    assert torch_distributed.parse_args(["--x", "1", "--", "python3", "t.py", "--", "y"]) == (
        ["--x", "1"],
        ["python3", "t.py", "--", "y"],
    )
    assert torch_distributed.parse_args(["python3", "t.py"]) == ([], ["python3", "t.py"])
    command = torch_distributed.create_launch_cmd(2, 4, 1, "10.0.0.1", ["--x"])
    assert command[:3] == ["python3", "-m", "torch.distributed.run"]
    assert " ".join(command[3:]) == (
        "--nnodes 2 --nproc_per_node 4 --node_rank 1 --max_restarts 0 "
        "--master_addr 10.0.0.1 --master_port 29400 --module --x"
    )
    client = torch_distributed.create_pid_client_cmd("1.t.1")
    assert client[0] == "determined.exec.pid_client"
    assert client[1] == torch_distributed.create_pid_server_cmd("1.t.1", 4)[7]


def test_no_script_is_an_error_with_the_usage() -> None:
    with pytest.raises(SystemExit, match="usage"):
        torch_distributed.parse_args([])
    with pytest.raises(SystemExit, match="no further arguments"), pytest.warns(FutureWarning):
        torch_distributed.parse_args(["--trial", "m:C", "more"])


def test_a_trial_class_may_be_joined_to_its_option() -> None:
    with pytest.warns(FutureWarning):
        _, apart = torch_distributed.parse_args(["--trial", "m:C"])
    with pytest.warns(FutureWarning):
        assert torch_distributed.parse_args(["--trial=m:C"]) == ([], apart)


def test_the_simple_launcher_counts_ranks_over_containers() -> None:
    ranks = simple.rank_environments(info(rank=1))
    assert [(r["RANK"], r["LOCAL_RANK"], r["GROUP_RANK"]) for r in ranks] == [
        ("2", "0", "1"),
        ("3", "1", "1"),
    ]
    assert {r["WORLD_SIZE"] for r in ranks} == {"4"}
    assert {r["DET_CHIEF_IP"] for r in ranks} == {"10.0.0.1"}


def test_horovod_names_hosts_and_tuning() -> None:
    command = " ".join(horovod.create_run_cmd(info(), ["--own"]))
    assert "-np 4 -p 12350 -H localhost:2,10.0.0.2:2" in command
    assert "--fusion-threshold-mb 64 --cycle-time-ms 1 --cache-capacity 1024" in command
    assert command.endswith("--own")


def test_deepspeed_keeps_each_containers_own_variables_back() -> None:
    env = {"A": "x y", "DET_AGENT_ID": "a", "HOSTNAME": "h", "MULTI": "1\n2", "BASH_FUNC_f%%": "f"}
    assert deepspeed.env_file_lines(env) == ["A='x y'\n"]
    command = deepspeed.create_run_command("m", "", (0, 15, 0))
    assert "--no_ssh_check" in command
    assert (
        command[command.index("--master_port") + 1] == "29400"
    )  # DeepSpeed's is the same for all
    assert "--no_ssh_check" not in deepspeed.create_run_command("m", "", (0, 6, 0))


def test_tensorflow_learns_all_workers() -> None:
    assert tensorflow.tf_config(info(rank=1), 29400) == {
        "cluster": {"worker": ["10.0.0.1:29400", "10.0.0.2:29400"]},
        "task": {"type": "worker", "index": 1},
    }


def test_lines_are_marked_and_long_ones_broken() -> None:
    target = io.BytesIO()
    source = io.BufferedReader(io.BytesIO(b"one\ntwo\rthree\r\n\n" + b"x" * 9000 + b"\nend"))
    wrap_rank.copy_lines(source, target, b"[rank=3] ")
    lines = target.getvalue().split(b"\n")
    assert lines[:4] == [b"[rank=3] one", b"[rank=3] two", b"[rank=3] three", b"[rank=3] "]
    assert [len(line) for line in lines[4:6]] == [8191 + 9, 809 + 9]
    assert lines[6:] == [b"[rank=3] end", b""]


def test_the_rank_is_a_number_or_the_first_variable_that_is_set() -> None:
    assert wrap_rank.read_rank("3", {}) == 3
    assert wrap_rank.read_rank("A,B", {"B": "2"}) == 2
    assert wrap_rank.read_rank("A,B", {}) is None


@pytest.mark.slow
@pytest.mark.parametrize(
    ("workers", "launcher", "code"),
    [
        (["0", "0"], "wait for both", 0),
        (["0", "5"], "wait for both", 5),
        (["0", "kill"], "exec sleep 60", 143),
        (["0"], "exit 0", 77),
    ],
)
def test_the_exit_code_of_the_pid_server_reflects_its_workers(
    tmp_path: pathlib.Path, workers: list[str], launcher: str, code: int
) -> None:
    env = {**os.environ, "PYTHONPATH": str(SOURCE)}
    address = str(tmp_path / "socket")
    server = [sys.executable, "-m", "determined.exec.pid_server"]
    client = f"{sys.executable} -m determined.exec.pid_client {address} -- sh -c"
    starts = []
    for number, ending in enumerate(workers):
        act = "kill -9 $PPID" if ending == "kill" else f"exit {ending}"
        starts.append(f"{client} '{act}' & p{number}=$!")
    is_patient = launcher == "wait for both"
    # A launcher that leaves while a worker has yet to say goodbye has ended too early.
    script = "; ".join([*starts, "wait $p0; wait $p1" if is_patient else launcher])
    grace = "60" if is_patient else "1"
    done = subprocess.run(
        [*server, "--grace-period", grace, address, "2", "--", "sh", "-c", script],
        env=env,
        capture_output=True,
        text=True,
        timeout=60,
    )
    assert done.returncode == code, done.stderr


COUNTS = """
import sys
for number in range(5000):
    sys.stdout.write(f"{number:020}\\n")
"""


@pytest.fixture(params=["wrap_rank", "simple"])
def marking(request: pytest.FixtureRequest, tmp_path: pathlib.Path) -> Callable[..., Any]:
    """Starts a program whose one rank's lines are marked."""

    def start(*command: str) -> subprocess.Popen[bytes]:
        run = {
            "wrap_rank": "wrap_rank.run_rank(3, sys.argv[1:])",
            "simple": "simple.run_ranks(sys.argv[1:], [{'RANK': '3'}])",
        }[request.param]
        script = f"import sys; from determined.launch import simple, wrap_rank; sys.exit({run})"
        env = {"PATH": os.environ["PATH"], "PYTHONPATH": str(SOURCE), "HOME": str(tmp_path)}
        words = [sys.executable, "-S", "-c", script, *command]
        return subprocess.Popen(words, env=env, stdout=subprocess.PIPE)

    return start


@pytest.mark.slow
def test_a_slow_log_loses_no_last_lines_of_a_rank(
    marking: Callable[..., Any],
) -> None:
    with marking(sys.executable, "-S", "-c", COUNTS) as p:
        with pytest.raises(subprocess.TimeoutExpired):
            p.wait(3)  # nobody reads yet, and its pipes do not hold all
        lines = p.stdout.read().decode().splitlines()
    assert lines == [f"[rank=3] {number:020}" for number in range(5000)]
    assert p.returncode == 0


@pytest.mark.slow
def test_a_remaining_child_does_not_delay_a_rank(
    marking: Callable[..., Any],
) -> None:
    with marking("sh", "-c", "sleep 600 & echo $!") as p:
        line = p.stdout.readline().decode()
        try:
            assert p.wait(60) == 0
        finally:
            os.kill(int(line.split()[-1]), signal.SIGKILL)
