"""Two ranks of one trial, as real processes, without any framework."""

from __future__ import annotations

import pytest
from tests.harness.conftest import Task
from tests.harness.master_double import MasterDouble

pytestmark = [pytest.mark.slow, pytest.mark.e2e]

TWO = {"addresses": ["127.0.0.1"], "rank": 0, "slots": [2]}

TRAIN = """
import pathlib
from determined import core
dist = core.DistributedContext.from_torch_distributed()
with core.init(distributed=dist) as context:
    assert dist.allgather((dist.rank, {"a", "b"})) == [(0, {"a", "b"}), (1, {"a", "b"})]
    assert dist.gather(dist.rank * 10) == ([0, 10] if dist.rank == 0 else None)
    assert dist.broadcast(b"chief" if dist.rank == 0 else None) == b"chief"
    assert dist.allgather_local(dist.local_rank) == [0, 1]
    context.train.report_training_metrics(1, {"loss": 1.0})
    assert context.preempt.should_preempt() is False
    folder = pathlib.Path(f"part-{dist.rank}")
    folder.mkdir()
    (folder / f"rank-{dist.rank}").write_text("x" * (dist.rank + 1))
    (folder / "common").write_text("same")
    uuid = context.checkpoint.upload(folder, {"steps_completed": 1}, shard=True)
    with context.checkpoint.restore_path(uuid) as path:
        assert sorted(p.name for p in path.iterdir()) == [
            "common", "metadata.json", "rank-0", "rank-1"
        ]
    print("rank", dist.rank, "of", dist.size)
"""


@pytest.fixture
def pair(task: Task, master: MasterDouble, python: str, unused_port: int) -> Task:
    master.on("GET", "/rendezvous$", (200, {"rendezvousInfo": TWO}))
    task.env["DET_SLOT_IDS"] = "[0, 1]"
    task.env["INTER_TRAIN_PROCESS_COMM_PORT_1"] = str(unused_port)
    launcher = [python, "-S", "-m", "determined.launch.simple", python, "-S", "train.py"]
    task.config["entrypoint"] = launcher
    return task


def test_two_ranks_meet_and_save_one_checkpoint(
    pair: Task, master: MasterDouble, python: str
) -> None:
    master.serve_files({"train.py": TRAIN})
    done = pair.enter(python)
    assert done.returncode == 0, done.stderr
    assert sorted(done.stdout.splitlines()) == [
        "[rank=0] rank 0 of 2",
        "[rank=1] rank 1 of 2",
    ]
    (checkpoint,) = master.named("POST", "/api/v1/checkpoints")
    assert checkpoint.body["resources"] == {"common": "4", "rank-0": "1", "rank-1": "2"}
    assert len(master.reports()) == 1
    assert len(master.named("POST", "/runs/start")) == 1


def test_a_group_of_its_own_is_reported_by_every_rank(
    pair: Task, master: MasterDouble, python: str
) -> None:
    master.serve_files(
        {
            "train.py": "from determined import core\n"
            "dist = core.DistributedContext.from_torch_distributed()\n"
            "with core.init(distributed=dist) as context:\n"
            "    context.train.report_metrics(f'rank{dist.rank}', 1, {'loss': dist.rank})\n"
            "    context.train.report_metrics('training', 1, {'loss': dist.rank})\n"
            "    context.train.report_metrics('validation', 1, {'loss': dist.rank})\n"
        }
    )
    done = pair.enter(python)
    assert done.returncode == 0, done.stderr
    told = sorted((r["group"], r["metrics"]["metrics"]["avgMetrics"]) for r in master.reports())
    assert told == [
        ("rank0", {"loss": 0}),
        ("rank1", {"loss": 1}),
        ("training", {"loss": 0}),
        ("validation", {"loss": 0}),
    ]


def test_a_rank_that_fails_ends_the_other_with_its_code(
    pair: Task, master: MasterDouble, python: str
) -> None:
    master.serve_files(
        {
            "train.py": "import os, sys, time\n"
            "if os.environ['RANK'] == '1':\n"
            "    sys.exit(9)\n"
            "time.sleep(60)\n"
        }
    )
    assert pair.enter(python).returncode == 9


def test_a_rank_that_dies_is_noticed_by_the_one_that_waits(
    pair: Task, master: MasterDouble, python: str
) -> None:
    master.serve_files(
        {
            "train.py": "import os\n"
            "from determined import core\n"
            "dist = core.DistributedContext.from_torch_distributed()\n"
            "if dist.rank == 1:\n"
            "    os._exit(0)\n"
            "dist.allgather(1)\n"
        }
    )
    done = pair.enter(python)
    assert done.returncode == 1
    assert (
        "[rank=0] determined.ipc._channel.PeerGone: another rank closed its connection"
        in done.stderr
    )


def test_files_that_differ_between_ranks_are_refused_on_both(
    pair: Task, master: MasterDouble, python: str
) -> None:
    master.serve_files(
        {
            "train.py": "import pathlib\n"
            "from determined import core\n"
            "dist = core.DistributedContext.from_torch_distributed()\n"
            "with core.init(distributed=dist) as context:\n"
            "    folder = pathlib.Path(f'part-{dist.rank}')\n"
            "    folder.mkdir()\n"
            "    (folder / 'model').write_text(str(dist.rank))\n"
            "    try:\n"
            "        context.checkpoint.upload(folder, {'steps_completed': 1}, shard=True)\n"
            "    except RuntimeError as error:\n"
            "        print(error)\n"
        }
    )
    done = pair.enter(python)
    assert done.returncode == 0, done.stderr
    assert done.stdout.count("1 files of one checkpoint differ between ranks: model of") == 2
    assert master.named("POST", "/api/v1/checkpoints") == []


def test_a_failed_upload_of_one_rank_leaves_no_checkpoint(
    pair: Task, master: MasterDouble, python: str
) -> None:
    master.serve_files(
        {
            "train.py": "import os, pathlib\n"
            "from determined import core\n"
            "dist = core.DistributedContext.from_torch_distributed()\n"
            "with core.init(distributed=dist) as context:\n"
            "    folder = pathlib.Path(f'part-{dist.rank}')\n"
            "    folder.mkdir()\n"
            "    (folder / f'rank-{dist.rank}').write_text('x')\n"
            "    if dist.rank == 1:\n"
            "        def full(*_):\n"
            "            raise OSError(28, 'No space left on device')\n"
            "        os.fsync = full\n"
            "    try:\n"
            "        context.checkpoint.upload(folder, {'steps_completed': 1}, shard=True)\n"
            "    except Exception as error:\n"
            "        print(error)\n"
        }
    )
    done = pair.enter(python)
    assert done.returncode == 0, done.stderr
    lines = sorted(done.stdout.splitlines())
    assert lines[0].startswith("[rank=0] rank 1 failed: the checkpoint storage")
    assert lines[1].startswith("[rank=1] the checkpoint storage")
    assert all("is full" in line and "storing rank-1" in line for line in lines)
    assert master.named("POST", "/api/v1/checkpoints") == []
    assert list(pair.storage.iterdir()) == []
