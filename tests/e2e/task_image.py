"""The image of tasks as a release has it, built from files, without a network."""

from __future__ import annotations

import os
import platform
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from packaging.markers import Marker
from tests.debian_tree import PATH, CannotRun
from tests.docker_daemon import Daemon
from tests.kept_trees import packed_tree
from tools.lock_files import read_lock

BUILD = Path(__file__).parents[2] / "deploy/build-image"
BASE, IMAGE = "determined-task-base:test", "determined-task-cpu:test"
_PACKAGES = "python3,python3-venv,git,openssh-server,openssh-client,ca-certificates"
BUILD_S = 900


@contextmanager
def task_image(docker: Daemon) -> Iterator[str]:
    """The image for processors, gone at the end.

    It is without PyTorch, of which one file has hundreds of megabytes.

    Raises:
        CannotRun: its packages cannot be had here.
    """
    if shutil.which("debootstrap") is None:
        raise CannotRun("debootstrap is not installed")
    scratch = Path(tempfile.mkdtemp(prefix="det-task-image-", dir="/tmp"))
    try:
        _build(docker, scratch)
        yield IMAGE
    except subprocess.CalledProcessError as error:
        reason = f"the packages of the image are not to be had: {error.stderr[-300:]!r}"
        raise CannotRun(reason) from error
    finally:
        for image in (IMAGE, BASE):
            if docker.run("images", "--quiet", image):
                docker.run("rmi", "--force", image)
        shutil.rmtree(scratch)


def _build(docker: Daemon, scratch: Path) -> None:
    tree = packed_tree("task", [_PACKAGES, platform.machine()], _debootstrap)
    with tree.open("rb") as files:
        docker.run("import", "--change", f"ENV PATH={PATH}", "-", BASE, stdin=files)
    version = "import platform; print(platform.python_version())"
    python = docker.run("run", "--rm", "--network", "none", BASE, "python3", "-c", version)
    if python.split(".")[:2] != list(platform.python_version_tuple()[:2]):
        raise CannotRun(f"files are taken for Python {platform.python_version()}, not {python}")
    _wheels(scratch / "wheels", python)
    env = {
        "PATH": os.environ["PATH"],
        "HOME": str(scratch),
        "DOCKER_HOST": docker.address,
        "BASE": BASE,
        "WHEELS": str(scratch / "wheels"),
        "TORCH": "",
    }
    command = [str(BUILD), "task-cpu", IMAGE]
    done = subprocess.run(
        command, env=env, capture_output=True, text=True, timeout=BUILD_S, check=False
    )
    assert done.returncode == 0, (done.stdout + done.stderr)[-3000:]


def _debootstrap(tree: Path) -> None:
    release = platform.freedesktop_os_release().get("VERSION_CODENAME", "bookworm")
    command = ["debootstrap", "--variant=minbase", f"--include={_PACKAGES}", release, str(tree)]
    subprocess.run(command, check=True, capture_output=True, timeout=BUILD_S)
    for name in ("var/cache/apt", "var/lib/apt/lists"):
        shutil.rmtree(tree / name)


def _wheels(directory: Path, python: str) -> None:
    """Files of the locked packages, for a release of Python."""
    directory.mkdir()
    at = {"python_full_version": python, "python_version": python.rpartition(".")[0]}
    lines = [
        " ".join([f"{pin.name}=={pin.version}", *(f"--hash=sha256:{one}" for one in pin.hashes)])
        for lock in ("install", "task")
        for pin in read_lock(lock).pins
        if not pin.marker or Marker(pin.marker).evaluate(at)
    ]
    wanted = directory / "wanted.txt"
    wanted.write_text("\n".join(lines))
    pip = [sys.executable, "-m", "pip", "download", "--quiet", "--no-deps", "--require-hashes"]
    command = [*pip, "--only-binary", ":all:", "--dest", str(directory), f"-r{wanted}"]
    subprocess.run(command, check=True, capture_output=True, timeout=BUILD_S)
