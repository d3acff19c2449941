"""The forms of image names: how each runtime translates them, and which it refuses."""

from __future__ import annotations

import pytest
from tests.covers import covers

from determined_agent.runtimes.image_forms import (
    ImageFormError,
    apptainer_source,
    daemon_image,
)

ROOT_FILES = {
    "/images/site/base:2",
    "/images/small.sif",
    "/images/nvidia+cuda+12.2.sqsh",
    "/images/team/own.sif",
}


def source(image: str, root: str = "") -> str:
    return apptainer_source(image, root, ROOT_FILES.__contains__)


@covers("experiment-config 12.hpc_images")
@pytest.mark.parametrize(
    "image",
    [
        "/images/a.sif",
        "/images/a-directory",
        "instance://mine",
        "library://user/collection/a:1",
        "shub://user/a",
        "oras://host/a:1",
        "docker://a/b:1",
        "docker-archive:/images/a.tar",
        "docker-archive:///images/a.tar",
        "docker-daemon:a:1",
        "oci:/images/layout:1",
        "oci-archive:/images/a.tar",
        "https://host/a.sif",
    ],
)
def test_paths_and_apptainers_own_forms_are_unchanged(image: str) -> None:
    assert source(image) == source(image, "/images") == image


@covers("experiment-config 12.hpc_images")
@pytest.mark.parametrize(
    ("image", "found"),
    [
        ("site/base:2", "/images/site/base:2"),
        ("small", "/images/small.sif"),
        ("small.sif", "/images/small.sif"),
        ("team/own.sif", "/images/team/own.sif"),
        ("nvidia/cuda:12.2", "/images/nvidia+cuda+12.2.sqsh"),
        ("nvidia+cuda+12.2.sqsh", "/images/nvidia+cuda+12.2.sqsh"),
        ("a/b:1", "docker://a/b:1"),
        ("host:5000/a", "docker://host:5000/a"),
        ("oci:1", "docker://oci:1"),
    ],
)
def test_apptainer_searches_the_image_root_before_the_registry(image: str, found: str) -> None:
    assert source(image, "/images/") == found


def test_without_an_image_root_a_name_is_in_a_registry() -> None:
    assert source("small") == "docker://small"


def test_nothing_outside_the_image_root_is_searched() -> None:
    with pytest.raises(ImageFormError, match="not below the agent's apptainer_image_root /images"):
        apptainer_source("../a.sif", "/images", lambda _: True)


@covers("experiment-config 12.hpc_images")
def test_enroots_separator_of_registry_and_name_is_a_slash() -> None:
    assert source("docker://nvcr.io#nvidia/cuda:12") == "docker://nvcr.io/nvidia/cuda:12"
    assert daemon_image("docker://nvcr.io#nvidia/cuda:12", "docker") == "nvcr.io/nvidia/cuda:12"
    with pytest.raises(ImageFormError, match=r"'docker://me@nvcr.io#a': .*registry_auth"):
        source("docker://me@nvcr.io#a")


@covers("experiment-config 12.hpc_images")
@pytest.mark.parametrize(
    ("image", "runtime", "name"),
    [
        ("host:5000/a/b:1", "docker", "host:5000/a/b:1"),
        ("docker://a/b:1", "docker", "a/b:1"),
        ("docker://a/b:1", "podman", "a/b:1"),
        ("docker-daemon:a/b:1", "docker", "a/b:1"),
        ("containers-storage:localhost/a:1", "podman", "localhost/a:1"),
        ("dir:1", "podman", "dir:1"),
        ("a@sha256:00", "docker", "a@sha256:00"),
    ],
)
def test_a_daemon_gets_the_name_without_its_transport(image: str, runtime: str, name: str) -> None:
    assert daemon_image(image, runtime) == name


@covers("experiment-config 12.hpc_images")
@pytest.mark.parametrize(
    ("image", "runtime", "remedy"),
    [
        ("/images/a.sif", "docker", "files are images for container_runtime apptainer"),
        ("a.sif", "podman", "files are images for container_runtime apptainer"),
        ("docker-archive:/a.tar", "docker", r"docker load -i FILE"),
        ("oci-archive:/a.tar", "podman", r"podman load -i FILE"),
        ("containers-storage:a", "docker", "docker-daemon:NAME"),
        ("docker-daemon:a:1", "podman", "containers-storage:NAME"),
        ("dir:/images/a", "podman", "docker://NAME"),
        ("oci:/images/a", "docker", "docker://NAME"),
        ("library://a", "docker", "docker://NAME"),
        ("dockerd://a", "docker", "docker://NAME"),
        ("dockerd://a", "apptainer", "docker-daemon:"),
        ("containers-storage:a", "apptainer", "docker-daemon:"),
        ("dir:/images/a", "apptainer", "use a path"),
        ("a.sif", "apptainer", "give its whole path"),
    ],
)
def test_an_unsupported_form_is_named_with_the_remedy(
    image: str, runtime: str, remedy: str
) -> None:
    with pytest.raises(ImageFormError) as caught:
        source(image) if runtime == "apptainer" else daemon_image(image, runtime)
    text = str(caught.value)
    assert text.startswith(f"environment.image '{image}': ")
    assert remedy in text
