"""Runs under either package: a program outside of the cluster, and how long its end takes.

Arguments: address, user, password, directory for checkpoints. Prints one JSON object.
"""

import json
import sys
import time
import warnings

warnings.simplefilter("ignore")

from determined.experimental import Determined, core_v2  # noqa: E402  # the warnings come first

address, user, password, directory = sys.argv[1:]
began = time.monotonic()
core_v2.init(
    client=Determined(master=address, user=user, password=password),
    defaults=core_v2.DefaultConfig(name="ends", searcher={"name": "single", "metric": "loss"}),
    unmanaged=core_v2.UnmanagedConfig(),
    checkpoint_storage=directory,
    tensorboard_mode=core_v2.TensorboardMode.MANUAL,
)
ready = time.monotonic()
for step in range(1, 101):
    core_v2.train.report_training_metrics(steps_completed=step, metrics={"loss": 1 / step})
    print("step", step)
    time.sleep(0.01)
core_v2.train.report_validation_metrics(steps_completed=100, metrics={"loss": 0.01})
with core_v2.checkpoint.store_path(metadata={"steps_completed": 100}) as (path, uuid):
    (path / "w").write_text("1")
worked = time.monotonic()
trial = core_v2.info.trial.trial_id
core_v2.close()
closed = time.monotonic()
print(
    json.dumps(
        {
            "trial": trial,
            "begin_s": ready - began,
            "work_s": worked - ready,
            "close_s": closed - worked,
            "closed_at": time.time(),
        }
    )
)
