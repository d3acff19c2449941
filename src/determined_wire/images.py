"""The images that a release publishes: where, and under which names.

The only place that names the registry. Chart, master, agent, `tools/release.py` and pages use it;
`tests/repo/test_images.py` compares those that cannot import it.
"""

from __future__ import annotations

from determined_wire.release import VERSION

REGISTRY = "ghcr.io/determined-platform"
TASK_PARTS = {"cpu": "task-cpu", "cuda": "task-cuda", "rocm": "task-rocm"}
"""By device type: the image of tasks."""
PARTS = ("master", "agent", *TASK_PARTS.values())

OTHER_DEFAULTS = "determinedai/"
"""Default images of 0.38.1's configurations begin so. Stored ones still name them."""


def repository(part: str) -> str:
    """The name of the image of a part, without a tag."""
    return f"{REGISTRY}/determined-{part}"


def published(part: str) -> str:
    """The image of a part in this release."""
    return f"{repository(part)}:{VERSION}"


def is_default_of_tasks(image: str) -> bool:
    """Whether it is the default of a release, or of 0.38.1, which nobody has chosen."""
    return image.startswith((OTHER_DEFAULTS, repository("task-")))
