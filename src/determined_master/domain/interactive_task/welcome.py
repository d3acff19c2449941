"""The notebook that a user finds in an empty working directory. PURE."""

from __future__ import annotations

import json

_TEXT = """\
# Welcome

This JupyterLab runs in a task of your cluster.

- **Files.** What you save under `/run/determined` is gone when the task ends. Save what you want
  to keep in a directory of the host (`bind_mounts` in the task's configuration).
- **Packages.** `pip install --user NAME` in a terminal lasts as long as the task. What you need
  every time belongs in the image, or in a `startup-hook.sh` of the directory that you start with
  (`det notebook start --context DIRECTORY`).
- **Slots.** `determined.get_cluster_info().slot_ids` are those of this task; `resources.slots`
  in the configuration says how many it gets.
- **Idle tasks.** With `idle_timeout` set, the task ends when nobody has used it for so long;
  `notebook_idle_type` says what counts as use. Save first.
- **The cluster.** `det experiment list` works in a terminal here: you are logged in as yourself.
"""


def _notebook() -> bytes:
    cell = {
        "cell_type": "markdown",
        "id": "welcome",
        "metadata": {},
        "source": _TEXT.splitlines(keepends=True),
    }
    kernel = {"display_name": "Python 3", "language": "python", "name": "python3"}
    document = {
        "cells": [cell],
        "metadata": {"kernelspec": kernel},
        "nbformat": 4,
        "nbformat_minor": 5,
    }
    return json.dumps(document, indent=1).encode()


WELCOME_NOTEBOOK = _notebook()
