"""A trial of one second that reports a validation."""

import time

from determined import core

with core.init() as context:
    time.sleep(1.0)
    context.train.report_validation_metrics(steps_completed=1, metrics={"loss": 1.0})
