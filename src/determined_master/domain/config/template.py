"""Templates: parts of an experiment's configuration, or of an interactive task's."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from determined_master.domain.config.experiment_schema import EXPERIMENT
from determined_master.domain.config.schema.problems import ProblemReport
from determined_master.domain.errors import InvalidArgument

TASK_KEYS = frozenset(
    {
        "description",
        "idle_timeout",
        "notebook_idle_type",
        "tensorboard_args",
        "work_dir",
    }
)
"""Keys of commands, notebooks, shells and tensorboards that experiments do not have."""
TASK_RESOURCES = frozenset({"slots"})


def check_template(config: Mapping[str, Any]) -> None:
    """Find mistakes when a template is stored, before an experiment uses it.

    A template may serve experiments and interactive tasks, so keys of both are known. Values of
    keys that only tasks have are checked with the tasks.

    Raises:
        InvalidArgument: with every problem and its path.
    """
    body = {k: v for k, v in config.items() if k == "description" or k not in TASK_KEYS}
    resources = body.get("resources")
    if isinstance(resources, Mapping):
        body["resources"] = {k: v for k, v in resources.items() if k not in TASK_RESOURCES}
    report = ProblemReport()
    EXPERIMENT.read(body, "<template>", report)
    if report.problems:
        lines = [f"{problem.path}: {problem.text}" for problem in report.problems]
        raise InvalidArgument("invalid template: " + "\n".join(lines))
