"""The image of tasks, built without a network, and what it is for."""

from __future__ import annotations

import json
from collections.abc import Iterator

import pytest
from tests.debian_tree import CannotRun
from tests.docker_daemon import Daemon
from tests.e2e import task_image as build
from tests.e2e.docker_cluster import config, docker_cluster

pytestmark = [
    pytest.mark.e2e,
    pytest.mark.slow,
    pytest.mark.docker,
    pytest.mark.xdist_group("docker"),
]


@pytest.fixture(scope="module")
def task_image(docker: Daemon) -> Iterator[str]:
    """The image for processors."""
    try:
        with build.task_image(docker) as image:
            yield image
    except CannotRun as reason:
        pytest.skip(str(reason))


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
    assert labels["org.opencontainers.image.base.name"] == build.BASE
