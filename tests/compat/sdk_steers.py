"""Runs under the published package: creates, changes, pauses, resumes and ends experiments.

Arguments: user, password, configuration, model directory. Prints one JSON object.
"""

import json
import sys
import warnings

warnings.simplefilter("ignore")

from determined.experimental import client  # noqa: E402  # the warnings come with the import

user, password, config, model = sys.argv[1:]
client.login(user=user, password=password)


def running():
    """An experiment whose trial has reported something."""
    made = client.create_experiment(config, model)
    trial = made.await_first_trial()
    for line in trial.iter_logs(follow=True):
        if "saved" in line:
            return made, trial
    raise AssertionError("the trial ended")


found = {}
experiment, trial = running()
experiment.set_name("from the sdk")
experiment.set_description("d")
experiment.set_labels({"a", "b"})
experiment.add_label("c")
experiment.remove_label("a")
experiment.set_notes("n")
experiment.pause()
experiment.reload()
found["paused"] = experiment.state.value
experiment.activate()
trial.kill()
found["trial_killed"] = experiment.wait(interval=0.5).value
experiment.archive()
experiment.unarchive()
found["id"] = experiment.id
found["labels"] = sorted(experiment.labels)

experiment, _ = running()
experiment.kill()
found["killed"] = experiment.wait(interval=0.5).value
experiment, _ = running()
experiment.cancel()
found["cancelled"] = experiment.wait(interval=0.5).value
print(json.dumps(found))
