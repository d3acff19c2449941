"""Programs outside of the cluster on a real master: their runs, logs, checkpoints and ends."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from tests.e2e.cluster import PASSWORD, Cluster, until

pytestmark = [pytest.mark.e2e, pytest.mark.slow]

PROGRAM = """
import json, pathlib, sys
from determined.experimental import Determined, core_v2
fails, storage = sys.argv[1] == "fails", sys.argv[2]
names = core_v2.Config(external_experiment_id="e2e", external_trial_id="one")
client = Determined(ADDRESS, "admin", PASSWORD)
with core_v2.init_context(config=names, client=client, checkpoint_storage=storage) as context:
    begun = context.info.trial._steps_completed
    print("begun at", begun)
    for step in range(begun + 1, begun + 4):
        context.train.report_training_metrics(step, {"loss": 1 / step})
    context.train.report_validation_metrics(step, {"unmanaged": 1 / step})
    with context.checkpoint.store_path({"steps_completed": step}) as (path, uuid):
        (path / "step").write_text(str(step))
    trial = context.info.trial
    pathlib.Path("found.json").write_text(json.dumps([trial.experiment_id, trial.trial_id]))
    if fails:
        raise RuntimeError("out of luck")
"""


def test_a_program_outside_fails_continues_and_completes(cluster: Cluster, tmp_path: Path) -> None:
    text = PROGRAM.replace("ADDRESS", repr(cluster.address)).replace("PASSWORD", repr(PASSWORD))

    def run(how: str) -> None:
        script = text.replace("sys.argv[1]", repr(how)).replace("sys.argv[2]", repr(str(tmp_path)))
        if how == "fails":
            with pytest.raises(AssertionError, match="out of luck"):
                cluster.run_script(script)
        else:
            cluster.run_script(script)

    run("fails")
    experiment, trial_id = json.loads((cluster.root / "found.json").read_text())
    assert cluster.wait(experiment) == "ERROR"
    run("completes")
    assert json.loads((cluster.root / "found.json").read_text()) == [experiment, trial_id]
    until(lambda: cluster.state(experiment) == "COMPLETED", what="the end")
    trial = cluster.get(f"/api/v1/trials/{trial_id}")["trial"]
    assert trial["totalBatchesProcessed"] == 6
    cluster.summed(trial_id, "avg_metrics", 6)
    assert {"begun at 0\n", "begun at 3\n"} <= {line["log"] for line in cluster.lines(trial_id)}

    found = cluster.get(f"/api/v1/trials/{trial_id}/checkpoints")["checkpoints"]
    early = min(found, key=lambda c: int(c["metadata"]["steps_completed"]))
    assert (tmp_path / early["uuid"] / "step").read_text() == "3"
    cluster.session().delete("/api/v1/checkpoints", json={"checkpointUuids": [early["uuid"]]})
    path = f"/api/v1/checkpoints/{early['uuid']}"
    until(lambda: cluster.get(path)["checkpoint"]["state"] == "STATE_DELETED", what="the deletion")
    assert not (tmp_path / early["uuid"]).exists()
    assert cluster.state(experiment) == "COMPLETED"
