"""Runs under the published package: two runs of one trial that the cluster does not start.

Arguments: user, password, directory for checkpoints. Prints one JSON object.
"""

import json
import sys
import warnings

warnings.simplefilter("ignore")

from determined.experimental import Determined, core_v2  # noqa: E402  # the warnings come first

user, password, directory = sys.argv[1:]
found = {"runs": []}
for run in range(2):
    core_v2.init(
        client=Determined(user=user, password=password),
        defaults=core_v2.DefaultConfig(
            name="from outside", hparams={"lr": 0.5}, searcher={"name": "single", "metric": "loss"}
        ),
        unmanaged=core_v2.UnmanagedConfig(
            external_experiment_id="compat-e", external_trial_id="compat-t"
        ),
        checkpoint_storage=directory,
        tensorboard_mode=core_v2.TensorboardMode.MANUAL,
    )
    print("run", run)
    found["runs"].append(core_v2.info.latest_checkpoint)
    for step in (1, 2):
        metrics = {"loss": 1 / (step + 2 * run)}
        core_v2.train.report_training_metrics(steps_completed=step + 2 * run, metrics=metrics)
    core_v2.train.report_validation_metrics(steps_completed=2 + 2 * run, metrics=metrics)
    metadata = {"steps_completed": 2 + 2 * run}
    with core_v2.checkpoint.store_path(metadata=metadata) as (path, uuid):
        (path / "w").write_text("1")
    found["trial"] = core_v2.info.trial.trial_id
    found["experiment"] = core_v2.info.trial.experiment_id
    found["uuid"] = uuid
    core_v2.close()
print(json.dumps(found))
