"""Sizes of the images of master, agent and tasks as a registry sends them; a pull to their start.

They are built on Debian with Python alone, since no registry is reached from here. Those of a
release have another base: `base_mb` is the part of each that is not ours. That of tasks
(`task_mb`) has no PyTorch, and its own base with git and sshd.
"""

from __future__ import annotations

import gzip
import json
import os
import shutil
import subprocess
import sys
import tarfile
import tempfile
import time
import urllib.request
from contextlib import ExitStack
from pathlib import Path

from tests.debian_tree import CannotRun
from tests.docker_daemon import IMAGE, Daemon, build_image, daemon
from tests.e2e.cluster import until
from tests.e2e.task_image import task_image
from tests.free_ports import free_port
from tests.registry import Registry, registry

from bench.figure import CannotMeasure, Figure, Limit, Load, Measured

DEPLOY = Path(__file__).parents[2] / "deploy"
PARTS = ("master", "agent")
TASK = "task"
MB = 1e6
COMPRESSION_LEVEL = 6
"""Docker's own at a push."""
BUILD_S = 900


def measure(load: Load) -> Measured:
    """Build all, let a registry serve them, and start each on a daemon that has none."""
    root = Path(tempfile.mkdtemp(prefix="det-bench-"))
    root.chmod(0o711)
    try:
        with ExitStack() as stack:
            try:
                docker = stack.enter_context(daemon())
                build_image(docker, root / "image")
            except CannotRun as error:
                raise CannotMeasure(str(error)) from error
            images = stack.enter_context(registry())
            layers = {part: _build(docker, images, part, root) for part in PARTS}
            with task_image(docker) as built:
                layers[TASK] = _publish(docker, images, TASK, built, root)
            docker.run("image", "prune", "--all", "--force")
            starts = {part: _start(docker, f"{images.host}/{part}:1", part) for part in layers}
    finally:
        shutil.rmtree(root, ignore_errors=True)
    facts = {f"{part}_pull_to_start_s": round(starts[part], 2) for part in layers}
    facts |= {"base_mb": round(layers["agent"][0] / MB, 1)}
    facts |= {"task_mb": round(sum(layers[TASK]) / MB, 1)}
    return Measured([sum(layers[part]) / MB for part in PARTS], facts)


def _build(docker: Daemon, images: Registry, part: str, root: Path) -> list[int]:
    """Build an image and add it to the registry; the bytes of its compressed layers."""
    packages = root / part / "packages"
    packages.parent.mkdir()
    env = {**os.environ, "DOCKER_HOST": docker.address, "HOME": str(root), "BASE": IMAGE}
    env |= {"PYTHON": sys.executable, "PACKAGES": str(packages)}
    for command in (
        [str(DEPLOY / "install-packages"), part, str(packages)],
        [str(DEPLOY / "build-image"), part, f"{part}:1"],
    ):
        done = subprocess.run(command, env=env, capture_output=True, text=True, timeout=BUILD_S)
        if done.returncode:
            output = (done.stdout + done.stderr)[-300:]
            raise CannotMeasure(f"{' '.join(command[:2])} ended with {done.returncode}: {output}")
    return _publish(docker, images, part, f"{part}:1", root)


def _publish(docker: Daemon, images: Registry, part: str, image: str, root: Path) -> list[int]:
    """Add an image of a daemon to the registry; the bytes of its compressed layers."""
    saved = root / "saved.tar"
    docker.run("save", "--output", str(saved), image)
    config, layers = _compressed(saved)
    images.add(part, config, layers)
    return [len(layer) for layer in layers]


def _compressed(saved: Path) -> tuple[bytes, list[bytes]]:
    """The configuration of an image in an archive of `docker save`, and its layers."""
    with tarfile.open(saved) as archive:

        def read(path: str) -> bytes:
            file = archive.extractfile(path)
            assert file is not None
            return file.read()

        [image] = json.loads(read("manifest.json"))
        layers = [gzip.compress(read(path), COMPRESSION_LEVEL) for path in image["Layers"]]
        return read(image["Config"]), layers


def _start(docker: Daemon, image: str, part: str) -> float:
    """Seconds from the command that pulls an image to an answer of what it runs."""
    since = time.monotonic()
    if part == "agent":
        docker.run("run", "--rm", "--network", "host", image, "version")
        return time.monotonic() - since
    if part == TASK:
        docker.run("run", "--rm", "--network", "none", image, "jupyter", "lab", "--version")
        return time.monotonic() - since
    port = free_port()
    docker.run(
        *("run", "--detach", "--name", part, "--network", "host", image),
        *("--host", "127.0.0.1", "--port", str(port)),
    )
    until(lambda: _is_healthy(port), what="a healthy master")
    took = time.monotonic() - since
    docker.run("rm", "--force", "--volumes", part)
    return took


def _is_healthy(port: int) -> bool:
    try:
        with urllib.request.urlopen(f"http://127.0.0.1:{port}/health", timeout=10) as answer:
            return bool(answer.status == 200)
    except OSError:
        return False


FIGURE = Figure(
    name="image_size",
    limits=[
        Limit("master", "MB", 180, "at_most", judged="count"),
        Limit("agent", "MB", 90, "at_most", judged="count"),
    ],
    measure=None,
    measure_alone=measure,
    needs="nothing",
    full=Load(runs=1, count=1),
    smoke=Load(runs=1, count=1),
    in_smoke=False,
)
