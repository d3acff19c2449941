"""A cluster whose tasks run in a Docker daemon of its own; both are gone at the end."""

from __future__ import annotations

import contextlib
import json
import shutil
import tempfile
from collections.abc import Iterator
from pathlib import Path

from tests.debian_tree import CannotRun
from tests.docker_daemon import IMAGE, build_image, daemon
from tests.e2e.cluster import Cluster

from bench.figure import CannotMeasure


@contextlib.contextmanager
def docker_cluster(slots: int) -> Iterator[Cluster]:
    """One agent; the image is on the machine. Raises CannotMeasure."""
    root = Path(tempfile.mkdtemp(prefix="det-bench-"))
    root.chmod(0o711)
    try:
        with contextlib.ExitStack() as stack:
            try:
                docker = stack.enter_context(daemon())
                build_image(docker, root / "image")
            except CannotRun as error:
                raise CannotMeasure(str(error)) from error
            settings = {
                "task_container_defaults": {"network_mode": "host", "image": IMAGE},
                "checkpoint_storage": {
                    "type": "shared_fs",
                    "host_path": str(root / "storage"),
                    "create": True,
                },
            }
            (root / "master.yaml").write_text(json.dumps(settings))
            cluster = Cluster(root, agents=1, slots=slots)
            cluster.master_options = ("--config-file", str(root / "master.yaml"))
            cluster.agent_options = (
                "--container-runtime",
                "docker",
                "--docker-host",
                docker.address,
            )
            try:
                cluster.start()
                yield cluster
                cluster.settle()
            finally:
                cluster.stop()
    finally:
        shutil.rmtree(root, ignore_errors=True)


def seen_by_tasks(cluster: Cluster) -> Path:
    """A directory that containers may be given, and write to."""
    path = cluster.root / "seen"
    path.mkdir(exist_ok=True)
    path.chmod(0o777)
    return path
