"""Runs under the published package: everything that its SDK reads of one ended experiment.

Arguments: user, password, experiment id, directory for downloads. Prints one JSON object.
"""

import json
import pathlib
import sys
import warnings

warnings.simplefilter("ignore")

from determined.experimental import client  # noqa: E402  # the warnings come with the import

user, password, experiment_id, directory = sys.argv[1:]
client.login(user=user, password=password)
experiment = client.get_experiment(int(experiment_id))
trial = experiment.await_first_trial()
best = experiment.top_checkpoint()
modes = (client.DownloadMode.DIRECT, client.DownloadMode.MASTER)
found = {
    "whoami": client.whoami().username,
    "users": sorted(u.username for u in client.list_users()),
    "experiments": [e.id for e in client.list_experiments()],
    "state": experiment.wait(interval=0.5).value,
    "name": experiment.name,
    "config": experiment.config,
    "trials": [t.id for t in experiment.get_trials()],
    "hparams": trial.hparams,
    "summary": trial.summary_metrics,
    "logs": list(trial.iter_logs()),
    "best": best.uuid,
    "checkpoints": [c.uuid for c in experiment.list_checkpoints()],
    "trial_checkpoints": [c.uuid for c in trial.list_checkpoints()],
    "checkpoint_trial": client.get_checkpoint(best.uuid).training.trial_id,
    "downloads": {
        mode.value: (
            pathlib.Path(best.download(f"{directory}/{mode.value}", mode=mode)) / "step"
        ).read_text()
        for mode in modes
    },
    "code": experiment.download_code(directory),
    "training": [
        (m.trial_id, m.steps_completed, m.metrics) for m in trial.iter_metrics("training")
    ],
    "validation": [
        (m.trial_id, m.steps_completed, m.metrics)
        for m in client.stream_trials_validation_metrics([trial.id])
    ],
    "workspaces": [w.name for w in client.list_workspaces()],
    "projects": [p.name for p in client.get_workspace("Uncategorized").list_projects()],
}
best.add_metadata({"mark": 1})
client.get_checkpoint(best.uuid).remove_metadata(["mark"])
found["metadata"] = client.get_checkpoint(best.uuid).metadata
client.logout()
print(json.dumps(found))
