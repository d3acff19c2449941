"""Two ranks train one trial: gloo, real processes, without a cluster."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

SCRIPT = '''
import json, os, pathlib, random, sys
import torch
from toy import Bench, ToyTrial, data, weights
from determined import core, pytorch

torch.set_num_threads(1)
torch.distributed.init_process_group("gloo")
ranks = core.DistributedContext.from_torch_distributed()
bench = Bench(pathlib.Path(sys.argv[1]), ranks)
told = {}


class Shared(ToyTrial):
    def __init__(self, context):
        super().__init__(context)
        context.models.clear()
        layers = torch.nn.Sequential(
            torch.nn.Linear(4, 8), torch.nn.BatchNorm1d(8), torch.nn.Dropout(0.5),
            torch.nn.Linear(8, 1),
        )
        self.model = context.wrap_model(layers)
        self.optimizer = context.optimizers[0] = torch.optim.SGD(layers.parameters(), lr=0.05)
        context.lr_schedulers.clear()
        self.rows = context.wrap_reducer(sorted, name="rows", for_training=False)
        self.acts[0] = lambda: [random.random() for _ in range(ranks.rank)]

    def evaluate_batch(self, batch, batch_idx):
        self.rows.update(len(batch[0]))
        return super().evaluate_batch(batch, batch_idx)


def fit(trial, **more):
    arguments = {"max_length": pytorch.Batch(24), "validation_period": pytorch.Batch(12)}
    return bench.fit(trial, checkpoint_policy="none", **{**arguments, **more})


def stored():
    """The chief's word: what it stores may be half there when others look."""
    return set(ranks.broadcast(bench.checkpoints() if ranks.rank == 0 else None))


for aggregation in (1, 4):
    whole = fit(bench.trial(Shared, aggregation=aggregation))
    known = stored()
    told[f"validations-{aggregation}"] = bench.reports.of("validation")
    parted = bench.trial(Shared, aggregation=aggregation)
    parted.acts[6] = lambda: setattr(parted.context._core.preempt, "now", ranks.rank == 0)
    fit(parted)
    (saved,) = stored() - known
    resumed = fit(bench.trial(Shared, aggregation=aggregation), latest_checkpoint=saved)
    told[f"left-{aggregation}"] = len(parted.seen)
    told[f"same-{aggregation}"] = weights(resumed) == weights(whole)
    told[f"records-{aggregation}"] = whole.batches
    told[f"alike-{aggregation}"] = weights(whole)[0].hex()



class Uneven(Shared):
    def train_batch(self, *args):
        own = {f"of-{ranks.rank}": 2.0 + ranks.rank, "both": ranks.rank}
        return {**super().train_batch(*args), **own}


fit(bench.trial(Uneven))
told["uneven"] = bench.reports.of("training")
stopped = bench.trial(Shared)
stopped.acts[4] = lambda: stopped.context.set_stop_requested(ranks.rank == 1)
fit(stopped)
told["stopped"] = len(stopped.seen)
told["bare"] = all(
    not name.startswith("module.")
    for name in torch.load(bench.storage / saved / "state_dict.pth")["models_state_dict"][0]
)
pathlib.Path(f"told-{ranks.rank}.json").write_text(json.dumps(told))
ranks.close()
torch.distributed.destroy_process_group()
'''


@pytest.fixture(scope="module")
def told(tmp_path_factory: pytest.TempPathFactory) -> list[dict[str, Any]]:
    """What each rank found."""
    place = tmp_path_factory.mktemp("ranks")
    (place / "train.py").write_text(SCRIPT)
    here = Path(__file__).parent
    ports = [21_000 + os.getpid() % 3_000, 25_000 + os.getpid() % 3_000]
    ranks = []
    for rank in ("0", "1"):
        env = {
            **os.environ,
            "PYTHONPATH": os.pathsep.join([str(here), str(here.parents[2] / "src")]),
            "MASTER_ADDR": "127.0.0.1",
            "MASTER_PORT": str(ports[0]),
            "INTER_TRAIN_PROCESS_COMM_PORT_1": str(ports[1]),
            **dict.fromkeys(("RANK", "LOCAL_RANK"), rank),
            **dict.fromkeys(("WORLD_SIZE", "LOCAL_WORLD_SIZE"), "2"),
            "GROUP_RANK": "0",
            "GROUP_WORLD_SIZE": "1",
        }
        command = [sys.executable, "train.py", str(place / "storage")]
        ranks.append(
            subprocess.Popen(command, cwd=place, env=env, stderr=subprocess.PIPE, text=True)
        )
    errors = [rank.communicate(timeout=150)[1] for rank in ranks]
    assert [rank.returncode for rank in ranks] == [0, 0], "\n".join(errors)[-5000:]
    return [json.loads((place / f"told-{rank}.json").read_text()) for rank in (0, 1)]


@pytest.mark.parametrize("aggregation", [1, 4])
def test_ranks_resume_bit_by_bit_each_with_its_own_generators(told: Any, aggregation: int) -> None:
    assert [one[f"same-{aggregation}"] for one in told] == [True, True]
    left = {1: 10, 4: 12}[aggregation]  # asked in batch 7, known to all at 10, a step ends at 12
    assert [one[f"left-{aggregation}"] for one in told] == [left, left]
    assert told[0][f"alike-{aggregation}"] == told[1][f"alike-{aggregation}"]


def test_ranks_read_each_record_once_an_epoch(told: Any) -> None:
    first, second = (one["records-1"] for one in told)
    epoch = [row for batch in first[:5] + second[:5] for row in batch]
    assert len(epoch) == len(set(epoch)) == 40


def test_a_validation_counts_all_ranks_though_one_has_fewer_batches(told: Any) -> None:
    reports, none = (one["validations-1"] for one in told)
    assert [(steps, m["rows"], m["epochs"]) for steps, m in reports] == [
        (12, [2, 4, 4], 2),
        (24, [2, 4, 4], 4),
    ]
    assert none == []  # rank 0 alone reports


def test_a_metric_of_one_rank_alone_is_reported_as_it_is(told: Any) -> None:
    metrics = told[0]["uneven"][0][1]
    assert (metrics["of-0"], metrics["of-1"], metrics["both"]) == (2.0, 3.0, 0.5)


def test_one_rank_may_stop_all(told: Any) -> None:
    assert [one["stopped"] for one in told] == [10, 10]


def test_weights_are_saved_as_of_one_rank(told: Any) -> None:
    assert told[0]["bare"]
