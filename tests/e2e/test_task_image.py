"""The image of tasks, built without a network, and what it is for."""

from __future__ import annotations

import json
import os
import platform
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path

import pytest
from packaging.markers import Marker
from tests.docker_daemon import PATH, Daemon
from tests.e2e.docker_cluster import config, docker_cluster
from tests.kept_trees import packed_tree
from tools.lock_files import read_lock

ROOT = Path(__file__).parents[2]
BUILD = ROOT / "deploy/build-image"
BASE, IMAGE = "determined-task-base:test", "determined-task-cpu:test"
_PACKAGES = "python3,python3-venv,git,openssh-server,openssh-client,ca-certificates"

pytestmark = [
    pytest.mark.e2e,
    pytest.mark.slow,
    pytest.mark.docker,
    pytest.mark.xdist_group("docker"),
]


def _debootstrap(tree: Path) -> None:
    release = platform.freedesktop_os_release().get("VERSION_CODENAME", "bookworm")
    command = ["debootstrap", "--variant=minbase", f"--include={_PACKAGES}", release, str(tree)]
    subprocess.run(command, check=True, capture_output=True, timeout=900)
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
    subprocess.run(command, check=True, capture_output=True, timeout=900)


@pytest.fixture(scope="module")
def task_image(docker: Daemon) -> Iterator[str]:
    """The image for processors, without PyTorch, of which one file has hundreds of megabytes."""
    if shutil.which("debootstrap") is None:
        pytest.skip("debootstrap is not installed")
    scratch = Path(tempfile.mkdtemp(prefix="det-task-image-", dir="/tmp"))
    try:
        tree = packed_tree("task", [_PACKAGES, platform.machine()], _debootstrap)
        with tree.open("rb") as files:
            docker.run("import", "--change", f"ENV PATH={PATH}", "-", BASE, stdin=files)
        version = "import platform; print(platform.python_version())"
        python = docker.run("run", "--rm", "--network", "none", BASE, "python3", "-c", version)
        if python.split(".")[:2] != list(platform.python_version_tuple()[:2]):
            pytest.skip(f"files are taken for Python {platform.python_version()}, not {python}")
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
            command, env=env, capture_output=True, text=True, timeout=900, check=False
        )
        assert done.returncode == 0, (done.stdout + done.stderr)[-3000:]
        yield IMAGE
    except subprocess.CalledProcessError as error:
        pytest.skip(f"the packages of the image are not to be had: {error.stderr[-300:]!r}")
    finally:
        for image in (IMAGE, BASE):
            if docker.run("images", "--quiet", image):
                docker.run("rmi", "--force", image)
        shutil.rmtree(scratch)


@pytest.mark.parametrize(
    "command",
    [
        "python3 -c 'import obstore, certifi'",
        "jupyter lab --version",
        "tensorboard --version",
        "python3 -c 'import pip' && git --version",
        "ssh-keygen -q -t ed25519 -N '' -f key && /usr/sbin/sshd -t -h $PWD/key -f /dev/null",
        "test $(id -u) = 1000 && touch here && pip --version",
    ],
)
def test_the_image_has_what_tasks_need_and_is_not_root(
    docker: Daemon, task_image: str, command: str
) -> None:
    docker.run("run", "--rm", "--network", "none", task_image, "sh", "-euc", command)


def test_a_trial_runs_in_the_image(docker: Daemon, task_image: str) -> None:
    with docker_cluster(docker, agents=1) as cluster:
        submitted = config(
            "python3 t.py && git --version", environment={"image": {"cpu": task_image}}
        )
        script = "import determined, jupyterlab, obstore, tensorboard\n"
        assert cluster.wait(cluster.submit(submitted, {"t.py": script})) == "COMPLETED"


def test_the_image_has_no_host_key_and_the_labels_of_its_part(
    docker: Daemon, task_image: str
) -> None:
    listed = docker.run("run", "--rm", "--network", "none", task_image, "ls", "/etc/ssh")
    assert "ssh_host" not in listed
    (found,) = json.loads(docker.run("inspect", task_image))
    labels = found["Config"]["Labels"]
    assert labels["org.opencontainers.image.title"] == "determined-task-cpu"
    assert labels["org.opencontainers.image.base.name"] == BASE
