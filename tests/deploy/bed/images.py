"""Images of a test bed, made in its Docker daemon from the packages that the tests run with."""

from __future__ import annotations

import os
import shutil
import subprocess
from pathlib import Path

from tests.deploy.installed import install, install_others

_HERE = Path(__file__).parent
_BUILD = Path(__file__).parents[3] / "deploy" / "build-image"
REGISTRY = "determined-test"
MASTER = f"{REGISTRY}/determined-master"
POSTGRES, TASK = f"{REGISTRY}/postgres:18", f"{REGISTRY}/task:1"
TAG, NEXT_TAG = "v1", "v2"
"""Of the master: two names of one image, so that a release has something to change to."""


def build_all(docker_host: str, base: str, directory: Path) -> None:
    """Make the images of master, database and tasks on a base image with Python and sshd.

    The packages of the master stay in the directory.
    """
    env = {"PATH": os.environ["PATH"], "HOME": str(directory), "DOCKER_HOST": docker_host}
    packages = directory / "packages"
    install_others(packages, "scikit-learn")
    _build("task", TASK, base, packages, env)
    shutil.rmtree(packages)
    install(packages, "master", "kubernetes")
    _run([str(_BUILD), "master", f"{MASTER}:{TAG}"], {**env, **by_packages(base, directory)})
    _run(["docker", "tag", f"{MASTER}:{TAG}", f"{MASTER}:{NEXT_TAG}"], env)
    _build("postgres", POSTGRES, base, packages, env)


def by_packages(base: str, directory: Path) -> dict[str, str]:
    """Variables by which `deploy/build-image` takes the packages that `build_all` has left."""
    return {"BASE": base, "PACKAGES": str(directory / "packages")}


def remove_all(docker_host: str) -> None:
    """Remove what `build_all` has made, as far as nothing uses it."""
    remove(docker_host, f"{MASTER}:{TAG}", f"{MASTER}:{NEXT_TAG}", POSTGRES, TASK)


def remove(docker_host: str, *names: str) -> None:
    """Remove images, as far as nothing uses them."""
    command = ["docker", "-H", docker_host, "rmi", "--force", *names]
    subprocess.run(command, capture_output=True, check=False)


def _build(name: str, tag: str, base: str, packages: Path, env: dict[str, str]) -> None:
    """An image of a directory beside this file, and of packages."""
    context = packages.parent / name
    shutil.copytree(_HERE / name, context)
    packages.rename(context / "packages")
    try:
        _run(["docker", "build", "--build-arg", f"BASE={base}", "--tag", tag, str(context)], env)
    finally:
        (context / "packages").rename(packages)
        shutil.rmtree(context)


def _run(command: list[str], env: dict[str, str]) -> None:
    done = subprocess.run(command, env=env, capture_output=True, text=True, timeout=900)
    assert done.returncode == 0, f"{command}: {done.stdout[-2000:]}{done.stderr[-2000:]}"
