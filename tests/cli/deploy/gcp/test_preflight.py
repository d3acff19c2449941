"""Everything that stands in the way is named at once, before anything is made."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest
from tests.backends.cloud.gcp_server import Fault
from tests.backends.cloud.google_project import GoogleProject
from tests.cli.conftest import Det
from tests.cli.deploy.gcp.conftest import PROJECT
from tests.cli.deploy.gcp.test_clusters import DISK, UP, up

pytestmark = pytest.mark.slow


def lacks(gcp: GoogleProject) -> None:
    gcp.manager.lacking = ("compute.firewalls.create", "secretmanager.versions.add")


def has_nothing(gcp: GoogleProject) -> None:
    gcp.manager.has_nothing = True


def small_quotas(gcp: GoogleProject) -> None:
    gcp.quotas = {
        "CPUS": (24.0, 23.0),
        "NVIDIA_T4_GPUS": (1.0, 0.0),
        "GPUS_ALL_REGIONS": (0.0, 0.0),
        "NETWORKS": (5.0, 5.0),
    }


def few_cpus(gcp: GoogleProject) -> None:
    gcp.quotas = {"CPUS": (24.0, 0.0), "C3_CPUS": (2.0, 0.0)}


def few_preemptible_cpus(gcp: GoogleProject) -> None:
    gcp.quotas = {"CPUS": (64.0, 0.0), "PREEMPTIBLE_CPUS": (16.0, 0.0)}


def no_preemptible_cpus(gcp: GoogleProject) -> None:
    gcp.quotas = {"CPUS": (24.0, 0.0), "PREEMPTIBLE_CPUS": (0.0, 0.0)}


def no_driver_image(gcp: GoogleProject) -> None:
    gcp.images = {one for one in gcp.images if "ubuntu-os-cloud" in one}


def foreign_bucket(gcp: GoogleProject) -> None:
    gcp.storage.foreign.add(f"{PROJECT}-determined-lab")


def public_bucket(gcp: GoogleProject) -> None:
    """One that somebody else has made, with our label, and lets everybody read."""
    labels = {"determined-cluster-id": "lab"}
    name = f"{PROJECT}-determined-lab"
    gcp.storage.buckets[name] = {"name": name, "labels": labels, "projectNumber": "1"}


def foreign_resources(gcp: GoogleProject) -> None:
    gcp.resources["global/firewalls/determined-lab-in-cluster"] = {"description": "mine"}
    gcp.resources[DISK] = {"name": "determined-lab-database", "labels": {}}
    gcp.secrets.found[f"projects/{PROJECT}/secrets/determined-lab"] = {"labels": {}}


def narrow_network(gcp: GoogleProject) -> None:
    gcp.resources["global/networks/east"] = {"subnetworks": ["https://x/regions/us-east1/a/b"]}


def own_image(gcp: GoogleProject) -> None:
    gcp.images = {*gcp.images, f"{PROJECT}/global/images/mine"}


def nothing(gcp: GoogleProject) -> None:
    """The project is as it should be."""


@pytest.mark.parametrize(
    ("prepare", "words", "texts"),
    [
        (lacks, (), ["lack permissions in the project lab-1: compute.firewalls.create, secretm"]),
        (has_nothing, (), ["--project-id lab-1: these credentials have no rights there"]),
        (
            small_quotas,
            (),
            [
                "the quota CPUS of us-west1 is 24, and 23 are in use, and this needs 2",
                "the quota NVIDIA_T4_GPUS of us-west1 is 1, and this needs 4",
                "the quota GPUS_ALL_REGIONS of lab-1 is 0, and this needs 4",
                "the quota NETWORKS of lab-1 is 5, and 5 are in use",
            ],
        ),
        (few_cpus, (), ["the quota CPUS of us-west1 is 24, and this needs 32: request"]),
        (
            few_cpus,
            ("--gpu-num", "0", "--compute-agent-instance-type", "c3-standard-4"),
            ["the quota C3_CPUS of us-west1 is 2, and this needs 4: request an increase"],
        ),
        (
            few_preemptible_cpus,
            ("--preemptible", "true"),
            ["the quota PREEMPTIBLE_CPUS of us-west1 is 16, and this needs 32: request"],
        ),
        (
            no_preemptible_cpus,
            ("--preemptible", "true"),
            ["the quota CPUS of us-west1 is 24, and this needs 32: request an increase"],
        ),
        (no_driver_image, (), ["nvidia-580: there is no such machine image"]),
        (
            nothing,
            ("--environment-image", "mine"),
            ["--environment-image projects/lab-1/global/images/mine: there is no such"],
        ),
        (
            nothing,
            (
                *("--master-instance-type", "m9-huge", "--compute-agent-instance-type", "n1-x-1"),
                *("--gpu-type", "nvidia-t9", "--db-snapshot", "gone", "--disk-type", "pd-new"),
            ),
            [
                "--master-instance-type m9-huge: us-west1-b has no such machine type",
                "--compute-agent-instance-type n1-x-1: us-west1-b has no such",
                "--gpu-type nvidia-t9: us-west1-b has no such GPU",
                "--disk-type pd-new: us-west1-b has no such type of disk",
                "--db-snapshot gone: there is no such snapshot",
            ],
        ),
        (
            own_image,
            (
                *("--environment-image", "mine", "--gpu-num", "0"),
                *("--compute-agent-instance-type", "t2a-standard-4"),
            ),
            [
                "--environment-image projects/lab-1/global/images/mine is for X86_64, and "
                "--compute-agent-instance-type t2a-standard-4 has processors of ARM64: give an",
            ],
        ),
        (
            nothing,
            ("--compute-agent-instance-type", "g2-standard-8"),
            ["g2-standard-8 comes with 1 x nvidia-l4: give --gpu-type nvidia-l4 --gpu-num 1"],
        ),
        (nothing, ("--zone", "us-west1-z"), ["zones of us-west1 are us-west1-a, us-west1-b"]),
        (nothing, ("--region", "moon-1"), ["there is no region moon-1 either"]),
        (foreign_bucket, (), ["lab-1-determined-lab cannot be read, and may be somebody else's"]),
        (public_bucket, (), ["lab-1-determined-lab exists and is no bucket of this cluster"]),
        (
            foreign_resources,
            (),
            [
                "global/firewalls/determined-lab-in-cluster exists and is not of this cluster",
                "zones/us-west1-b has a determined-lab-database that is not of this cluster",
                "the secret determined-lab exists and is no secret of this cluster",
            ],
        ),
        (
            nothing,
            ("--network", "projects/net-host/global/networks/shared"),
            ["there is no such network, or the project net-host does not share it"],
        ),
        (narrow_network, ("--network", "east"), ["--network east has no subnetwork in us-west1"]),
    ],
)
def test_each_obstacle_is_named_with_a_remedy(
    det: Det,
    gcp: GoogleProject,
    prepare: Callable[[GoogleProject], None],
    words: tuple[str, ...],
    texts: list[str],
) -> None:
    prepare(gcp)
    before = {*gcp.resources}
    done = det(*UP, *words)
    assert done.status == 1
    assert "nothing was created or changed:" in done.err
    for text in texts:
        assert text in done.err
    assert {*gcp.resources} == before
    assert (gcp.instances, gcp.accounts.found) == ({}, {})


def test_a_cluster_that_cannot_be_changed_so_is_left_as_it_is(
    det: Det, gcp: GoogleProject
) -> None:
    up(det, "--db-size", "30")
    refused = det(*UP)
    assert "the disk of the database has 30 GB, and disks do not shrink" in refused.err
    moved = det(*UP, "--zone", "us-west1-a")
    assert "the cluster lab is in us-west1-b, and cannot be moved" in moved.err
    assert [path for _, path, _ in gcp.calls if path.endswith("/stop")] == []


def test_a_master_gets_no_machine_that_its_disks_do_not_fit(det: Det, gcp: GoogleProject) -> None:
    up(det)
    refused = det(*UP, "--master-instance-type", "n4-standard-4")
    assert "the disk of the database is of type pd-balanced, which GCP does not att" in refused.err
    assert [path for _, path, _ in gcp.calls if path.endswith("/stop")] == []


def test_a_disabled_api_is_named_with_the_command_that_enables_it(
    det: Det, gcp: GoogleProject, monkeypatch: pytest.MonkeyPatch
) -> None:
    def disabled(*_: object) -> None:
        text = "Secret Manager API has not been used in project 1 before or it is disabled."
        raise Fault(403, text, "accessNotConfigured")

    monkeypatch.setattr(gcp.secrets, "answer", disabled)
    done = det(*UP)
    assert "Secret Manager API has not been used" in done.err
    assert f"gcloud services enable --project {PROJECT} compute.googleapis.com" in done.err
    assert "secretmanager.googleapis.com" in done.err


@pytest.mark.parametrize("name", ["logging", "monitoring"])
def test_apis_of_logs_and_metrics_must_be_enabled_if_they_are_sent(
    det: Det, gcp: GoogleProject, name: str
) -> None:
    service = getattr(gcp, name)
    text = f"Cloud {name} API has not been used in project 1 before or it is disabled."
    service.refusal = Fault(403, text, "accessNotConfigured")
    done = det(*UP, "--cloud-logging")
    assert f"{text} Or: gcloud services enable --project {PROJECT}" in done.err
    assert f"{name}.googleapis.com" in done.err
    assert gcp.instances == {}
    # An account that may not read logs may start machines that write them.
    service.refusal = Fault(403, "Permission denied", "forbidden")
    up(det, "--cloud-logging")
    service.refusal = Fault(403, text, "accessNotConfigured")
    up(det)


def test_a_question_about_permissions_that_gcp_does_not_take_stops_nothing(
    det: Det, gcp: GoogleProject, monkeypatch: pytest.MonkeyPatch
) -> None:
    answer = gcp.manager.answer

    def picky(method: str, path: str, *rest: object) -> object:
        if "testIamPermissions" in path:
            raise Fault(400, "Permission compute.disks.use is not valid", "badRequest")
        return answer(method, path, *rest)  # type: ignore[arg-type]

    monkeypatch.setattr(gcp.manager, "answer", picky)
    assert "The permissions could not be checked" in up(det)


def test_missing_and_broken_credentials_are_named(
    det: Det, gcp: GoogleProject, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    broken = tmp_path / "broken.json"
    broken.write_text("{}")
    for words, text in (
        (("--keypath", "/nowhere.json"), "--keypath /nowhere.json: '/nowhere.json': No such file"),
        (("--keypath", str(broken)), "run gcloud auth application-default login"),
    ):
        done = det(*UP, *words)
        assert done.status == 1
        assert text in done.err
    monkeypatch.setenv("GOOGLE_APPLICATION_CREDENTIALS", "/gone.json")
    assert "there are no credentials of GCP: File /gone.json was not found" in det(*UP).err


def test_a_project_that_no_option_names_is_that_of_the_credentials(
    det: Det, gcp: GoogleProject
) -> None:
    up(det)
    assert "lab" in det("deploy", "gcp", "list").out


def test_a_gcp_that_does_not_answer_is_named(det: Det, gcp: GoogleProject) -> None:
    gcp.stop()
    done = det(*UP)
    assert done.status == 1
    assert "GCP does not answer" in done.err
