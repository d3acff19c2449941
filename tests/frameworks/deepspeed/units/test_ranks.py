"""Two ranks train one trial: gloo, real processes, without a cluster."""

from __future__ import annotations

import json
import os
import socket
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

SCRIPT = '''
import json, pathlib, sys
import torch
from world import PipelineTrial, Runs, SmallTrial, weights
from determined import core, pytorch
from determined.pytorch import deepspeed as det_ds

torch.set_num_threads(1)
with det_ds.init() as context:
    ranks = context.distributed
runs = Runs(pathlib.Path(sys.argv[1]), core.DistributedContext.from_torch_distributed())
ranks = runs.ranks
outcome = {}


def stored():
    """The checkpoints that rank 0 lists: other ranks may list one that is not complete."""
    return set(ranks.broadcast(list(runs.checkpoints()) if ranks.rank == 0 else None))


class Staged(SmallTrial):
    stage = int(sys.argv[2]) if sys.argv[2].isdigit() else 0


kind = PipelineTrial if sys.argv[2] == "pipeline" else Staged
whole = runs.fit(runs.trial(kind), checkpoint_policy="none")
outcome["reports"] = {name: made for name, made in runs.reports.made.items()}
outcome["evaluated"] = whole.evaluated
outcome["records"] = whole.records
outcome["mpu"] = whole.context._mpu._asdict()
outcome["sizes"] = [whole.context.get_per_slot_batch_size(), whole.context.get_global_batch_size()]
known = stored()
parted = runs.trial(kind)
parted.acts[6] = lambda: setattr(parted.context._core.preempt, "now", True)
runs.fit(parted, checkpoint_policy="none")
outcome["parted"] = parted.engine.global_steps
(saved,) = stored() - known
outcome["files"] = sorted(
    str(path.relative_to(runs.storage / saved)) for path in (runs.storage / saved).rglob("*.p*t*")
)
resumed = runs.fit(runs.trial(kind), latest_checkpoint=saved, checkpoint_policy="none")
outcome["same"] = weights(resumed) == weights(whole)
pathlib.Path(f"outcome-{ranks.rank}.json").write_text(json.dumps(outcome))
ranks.close()
'''


def outcomes(place: Path, mode: str) -> list[dict[str, Any]]:
    """What both ranks wrote."""
    (place / "train.py").write_text(SCRIPT)
    here = Path(__file__).parent
    root = here.parents[3]
    with (
        socket.create_server(("127.0.0.1", 0)) as one,
        socket.create_server(("127.0.0.1", 0)) as two,
    ):
        ports = [str(server.getsockname()[1]) for server in (one, two)]
    ranks = []
    for rank in ("0", "1"):
        env = {
            **os.environ,
            "PYTHONPATH": os.pathsep.join([str(here), str(root), str(root / "src")]),
            "MASTER_ADDR": "127.0.0.1",
            "MASTER_PORT": ports[0],
            "INTER_TRAIN_PROCESS_COMM_PORT_1": ports[1],
            **dict.fromkeys(("RANK", "LOCAL_RANK"), rank),
            **dict.fromkeys(("WORLD_SIZE", "LOCAL_WORLD_SIZE"), "2"),
            "GROUP_RANK": "0",
            "GROUP_WORLD_SIZE": "1",
        }
        command = [sys.executable, "train.py", str(place / "storage"), mode]
        ranks.append(
            subprocess.Popen(command, cwd=place, env=env, stderr=subprocess.PIPE, text=True)
        )
    errors = [rank.communicate(timeout=300)[1] for rank in ranks]
    assert [rank.returncode for rank in ranks] == [0, 0], "\n".join(errors)[-5000:]
    return [json.loads((place / f"outcome-{rank}.json").read_text()) for rank in (0, 1)]


@pytest.mark.parametrize("stage", [1, 2, 3])
def test_ranks_with_zero_resume_bit_by_bit(tmp_path: Path, stage: int) -> None:
    made = outcomes(tmp_path, str(stage))
    assert [one["same"] for one in made] == [True, True]
    assert [one["parted"] for one in made] == [10, 10]  # asked in batch 7, all know it at 10
    assert [one["sizes"] for one in made] == [[4, 8], [4, 8]]
    first, second = (one["records"][:20] for one in made)
    assert len({*first, *second}) == 40  # each record once an epoch of 5 batches
    # 10 records are 5 micro batches: 3 and 2. With ZeRO 3, all ranks must run the same number.
    assert [len(one["evaluated"]) for one in made] == ([4, 4] if stage == 3 else [6, 4])
    reports, others = (one["reports"] for one in made)
    assert others == {}
    assert (list(reports["training"]), list(reports["validation"])) == (["12"], ["6", "12"])
    files = made[0]["files"]
    assert [f"det_state_dict_rank{rank}.pth" in files for rank in (0, 1, 2)] == [True, True, False]
    states = [name for name in files if name.endswith("optim_states.pt")]
    assert len(states) == 2  # each rank has stored its own


def test_a_pipeline_of_two_stages_resumes_bit_by_bit(tmp_path: Path) -> None:
    made = outcomes(tmp_path, "pipeline")
    assert [one["same"] for one in made] == [True, True]
    assert [one["mpu"]["should_report_metrics"] for one in made] == [False, True]
    assert [one["mpu"]["should_build_data_loader"] for one in made] == [True, True]
    assert {one["mpu"]["data_parallel_world_size"] for one in made} == {1}
    assert [one["sizes"] for one in made] == [[4, 4], [4, 4]]
    assert [one["evaluated"] for one in made] == [[0, 1] * 2] * 2
    reports = made[0]["reports"]
    assert (list(reports["training"]), list(reports["validation"])) == (["12"], ["6", "12"])
    assert reports["training"]["12"].keys() == {"loss"}
