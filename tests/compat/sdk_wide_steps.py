"""Runs under the published package: a program reports at large steps, and reads what it reported.

Arguments: user, password, directory for checkpoints, steps. Prints one JSON object.
"""

import json
import sys
import warnings

warnings.simplefilter("ignore")

from determined.common.api import bindings  # noqa: E402  # the warnings come first
from determined.experimental import Determined, core_v2  # noqa: E402

user, password, directory, text = sys.argv[1:]
steps = int(text)
client = Determined(user=user, password=password)
core_v2.init(
    client=client,
    defaults=core_v2.DefaultConfig(name="large", searcher={"name": "single", "metric": "loss"}),
    unmanaged=core_v2.UnmanagedConfig(
        external_experiment_id=f"large-{steps}", external_trial_id=f"large-{steps}"
    ),
    checkpoint_storage=directory,
    tensorboard_mode=core_v2.TensorboardMode.MANUAL,
)
for step in (steps - 1, steps):
    core_v2.train.report_training_metrics(steps_completed=step, metrics={"loss": 0.5})
core_v2.train.report_validation_metrics(steps_completed=steps, metrics={"loss": 0.25})
with core_v2.checkpoint.store_path(metadata={"steps_completed": steps}) as (path, uuid):
    (path / "w").write_text("1")
trial_id = core_v2.info.trial.trial_id
core_v2.close()

trial = client.get_trial(trial_id)
[checkpoint] = trial.list_checkpoints()
compared = bindings.get_CompareTrials(
    client._session, trialIds=[trial_id], metricIds=["training.loss"], startBatches=steps - 1
)
workloads = bindings.get_GetTrialWorkloads(client._session, trialId=trial_id).workloads
print(
    json.dumps(
        {
            "trial": trial_id,
            "training": [m.steps_completed for m in trial.iter_metrics("training")],
            "validation": [m.steps_completed for m in trial.iter_metrics("validation")],
            "checkpoint": checkpoint.metadata["steps_completed"],
            "total": bindings.get_GetTrial(
                client._session, trialId=trial_id
            ).trial.totalBatchesProcessed,
            "series": [p.batches for t in compared.trials for m in t.metrics for p in m.data],
            "workloads": [
                w.totalBatches
                for one in workloads
                for w in (one.training, one.validation, one.checkpoint)
                if w is not None
            ],
        }
    )
)
