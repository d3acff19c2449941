"""A cluster whose tasks run in Docker, and what tests submit to it."""

from __future__ import annotations

import json
import shutil
import tempfile
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from tests.docker_daemon import IMAGE, Daemon
from tests.e2e.cluster import Cluster, Https, until


@contextmanager
def docker_cluster(
    docker: Daemon,
    agents: int = 2,
    slots: int = 1,
    https: Https | None = None,
    *,
    more: Mapping[str, Any] | None = None,
    limits: Mapping[str, Any] | None = None,
) -> Iterator[Cluster]:
    """A cluster on one daemon; at the end it is gone, and no container is left.

    Args:
        more: further settings of the master.
        limits: further `task_container_defaults`.
    """
    root = Path(tempfile.mkdtemp(prefix="det-e2e-", dir="/tmp"))
    root.chmod(0o711)
    settings = {
        "task_container_defaults": {"network_mode": "host", "image": IMAGE, **(limits or {})},
        "checkpoint_storage": {
            "type": "shared_fs",
            "host_path": str(root / "storage"),
            "create": True,
        },
        **(more or {}),
    }
    made = Cluster(root, agents, slots, settings=json.dumps(settings), https=https)
    runtime = ("--container-runtime", "docker", "--docker-host", docker.address)
    made.agent_options = (*made.agent_options, *runtime)  # the last of a flag wins
    try:
        made.start()
        yield made
        made.settle()
        until(lambda: docker.containers() == [], what="the removal of all containers")
    finally:
        left = made.stop()
        shutil.rmtree(root, ignore_errors=True)
    assert left == [], "processes outlived their cluster"


def config(entrypoint: str, **more: Any) -> dict[str, Any]:
    """An experiment of one trial that fails for good the first time."""
    return {
        "name": "docker",
        "entrypoint": entrypoint,
        "searcher": {"name": "single", "metric": "loss"},
        "max_restarts": 0,
        **more,
    }


def gang(script: str, slots: int = 2, **more: Any) -> tuple[dict[str, Any], dict[str, str]]:
    """An experiment whose one trial has several slots, and its files."""
    entrypoint = "python3 -m determined.launch.simple python3 t.py"
    return config(entrypoint, resources={"slots_per_trial": slots}, **more), {"t.py": script}
