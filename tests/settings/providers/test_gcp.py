"""Settings of pools whose machines come from GCP (master-config 17)."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from tests.covers import covers
from tests.provider_options import AT, problems, read

from determined_master.api.cluster.machine_details import machine_details
from determined_master.settings.providers.gcp import GcpInstanceType, GcpProvider
from determined_wire.rest.types.resourcepool import ResourcePoolDetail, ResourcePoolGcpDetail

LEAST = {
    "type": "gcp",
    "agent_docker_image": "registry.example/agent:1",
    "boot_disk_source_image": "projects/lab/global/images/docker",
    "instance_type": {"machine_type": "n1-standard-8"},
}


def gcp(tmp_path: Path, **options: Any) -> GcpProvider:
    found = read(tmp_path, {**LEAST, **options}).resource_pools[0].provider
    assert isinstance(found, GcpProvider)
    return found


@covers("scheduling-and-provisioning c.9.disk c.9.type c.9.label")
def test_images_and_a_machine_type_are_enough(tmp_path: Path) -> None:
    found = gcp(tmp_path)
    kind = GcpInstanceType(machine_type="n1-standard-8")
    assert found == GcpProvider(**{**LEAST, "instance_type": kind})
    assert (found.boot_disk_size, found.boot_disk_of("n1-standard-8")) == (200, "pd-standard")
    assert (found.label_key, found.label_value, found.name_prefix) == ("managed-by", "", "")
    kind = found.instance_type
    assert (kind.machine_type, kind.gpu_type, kind.gpu_num, kind.preemptible) == (
        "n1-standard-8",
        "nvidia-tesla-t4",
        4,
        False,
    )
    assert found.operation_timeout_period_s == 300.0
    assert not found.use_cloud_logging
    assert not found.cpu_slots_allowed


def test_every_option_is_read_and_shown_in_the_list_of_pools(tmp_path: Path) -> None:
    found = gcp(
        tmp_path,
        base_config={"canIpForward": True},
        project="lab",
        zone="us-west1-b",
        boot_disk_size=100,
        boot_disk_source_image="image",
        labels={"team": "vision"},
        label_key="owner",
        label_value="me",
        name_prefix="agent-",
        network_interface={"network": "n", "subnetwork": "s", "external_ip": True},
        network_tags=["web"],
        service_account={"email": "a@b", "scopes": ["c"]},
        instance_type={
            "machine_type": "a2-highgpu-8g",
            "gpu_type": "nvidia-tesla-a100",
            "gpu_num": 8,
            "preemptible": True,
        },
        operation_timeout_period="10m",
        use_cloud_logging=True,
    )
    assert found.base_config == {"canIpForward": True}
    assert found.labels == {"team": "vision"}
    assert found.use_cloud_logging
    details = machine_details(found, ResourcePoolDetail())
    assert details.gcp == ResourcePoolGcpDetail(
        project="lab",
        zone="us-west1-b",
        boot_disk_size=100,
        boot_disk_source_image="image",
        label_key="owner",
        label_value="me",
        name_prefix="agent-",
        network="n",
        subnetwork="s",
        external_ip=True,
        network_tags=("web",),
        service_account_email="a@b",
        service_account_scopes=("c",),
        machine_type="a2-highgpu-8g",
        gpu_type="nvidia-tesla-a100",
        gpu_num=8,
        preemptible=True,
        operation_timeout_period=600.0,
    )


def test_several_types_take_the_gpus_that_they_come_with(tmp_path: Path) -> None:
    found = gcp(
        tmp_path,
        instance_type=None,
        instance_types=[
            {"machine_type": "g2-standard-8"},
            {"machine_type": "n1-standard-8", "gpu_type": "nvidia-tesla-t4", "gpu_num": 1},
        ],
        zones=["us-west1-a", "us-west1-b"],
    )
    assert [(k.machine_type, k.gpu_type, k.gpu_num) for k in found.types] == [
        ("g2-standard-8", "nvidia-l4", 1),
        ("n1-standard-8", "nvidia-tesla-t4", 1),
    ]
    assert found.gpus == 1
    told = machine_details(found, ResourcePoolDetail()).gcp
    assert told is not None
    assert (told.machine_type, told.zone) == ("g2-standard-8", "us-west1-a")


@pytest.mark.parametrize(
    ("options", "markets"),
    [({}, "never"), ({"spot": "prefer"}, "prefer"), ({"spot": True}, "only")],
)
def test_spot_and_preemptible_choose_the_markets(
    tmp_path: Path, options: dict[str, Any], markets: str
) -> None:
    assert gcp(tmp_path, **options).spot_use == markets
    kind = {"machine_type": "n1-standard-8", "preemptible": True}
    if markets != "prefer":
        assert gcp(tmp_path, instance_type=kind, **options).spot_use == "only"


DATA = {"source": "zones/us-west1-a/disks/data", "mode": "READ_ONLY"}
G2 = {"machine_type": "g2-standard-8", "gpu_type": "nvidia-l4", "gpu_num": 1}


def plain(machine_type: str) -> dict[str, Any]:
    """A type without GPUs."""
    return {"machine_type": machine_type, "gpu_type": "", "gpu_num": 0}


WRONG: list[tuple[dict[str, Any], str]] = [
    ({"boot_disk_size": 99}, "boot_disk_size: must be >= 100 but found 99"),
    (
        {"network_interface": {"network": "n"}},
        "network_interface.subnetwork: must be set too: network and subnetwork go together",
    ),
    (
        {"operation_timeout_period": "0s"},
        "operation_timeout_period: must be more than 0 s but found 0s",
    ),
    ({"label_key": "Owner"}, 'label_key: "Owner" is no key of a label: use at most 63'),
    ({"label_key": "determined-resource-pool"}, 'label_key: "determined-resource-pool" is taken'),
    ({"label_key": "determined-launch"}, 'label_key: "determined-launch" is taken: the master'),
    ({"label_value": "It's me"}, 'label_value: "It\'s me" is no value of a label: use at most'),
    ({"labels": {"a": "B"}}, 'labels.a: "B" is no value of a label'),
    ({"labels": {"1a": "b"}}, 'labels.1a: "1a" is no key of a label'),
    ({"base_config": {"metadata": None}}, "base_config.metadata: expected object, but got null"),
    ({"base_config": {"disks": {}}}, "base_config.disks: expected array, but got object"),
    ({"base_config": {"metadata": {"items": {}}}}, "base_config.metadata.items: expected a list"),
    (
        {"base_config": {"metadata": {"items": [{"key": "startup-script", "value": "x"}]}}},
        'base_config.metadata.items[0].key: "startup-script" is the master\'s own: give prov',
    ),
    (
        {"boot_disk_iops": 3000},
        "boot_disk_iops: has no effect on pd-standard: remove it, or set boot_disk_type",
    ),
    (
        {"boot_disk_type": "pd-extreme", "boot_disk_iops": 0},
        "boot_disk_iops: must be >= 1 but found 0",
    ),
    (
        {"instance_type": G2, "boot_disk_type": "zones/us-west1-b/diskTypes/pd-standard"},
        'boot_disk_type: "pd-standard" is refused by GCP for g2-standard-8: use pd-balanced, or',
    ),
    (
        {"instance_type": plain("n4-standard-8"), "boot_disk_type": "pd-ssd"},
        'boot_disk_type: "pd-ssd" is refused by GCP for n4-standard-8: use hyperdisk-balanced',
    ),
    (
        {
            "instance_type": None,
            "instance_types": [{"machine_type": f"{name}-standard-8"} for name in ("n2", "c4")],
            "cpu_slots_allowed": True,
            "boot_disk_type": "pd-balanced",
        },
        'boot_disk_type: "pd-balanced" is refused by GCP for c4-standard-8: use hyperdisk-balan',
    ),
    (
        {
            "instance_type": None,
            "instance_types": [{"machine_type": f"{name}-standard-8"} for name in ("n4", "c4a")],
            "cpu_slots_allowed": True,
        },
        "instance_types: must have one kind of processors, since one image boots on all, but "
        "n4-standard-8 has x86_64 and c4a-standard-8 has arm64: put them into two pools",
    ),
    (
        {"zones": ["us-west1-a", "us-west1-b"], "base_config": {"disks": [DATA]}},
        'base_config.disks[0].source: "zones/us-west1-a/disks/data" is in us-west1-a, and '
        "machines in us-west1-b cannot attach it: set provider.zone to us-west1-a and remove",
    ),
    (
        {"zone": "us-west1-b", "base_config": {"disks": [DATA]}},
        'base_config.disks[0].source: "zones/us-west1-a/disks/data" is in us-west1-a',
    ),
    (
        {"instance_slots": 4},
        "instance_slots: is for types that are not known, and n1-standard-8 is: remove it",
    ),
    ({"prices": {"e2-medium": 1}}, "prices.e2-medium: is no machine type of this pool, which has"),
    ({"zones": ["us-west1-a"], "zone": "us-west1-b"}, 'zone: "us-west1-b" has no effect beside'),
    (
        {"zones": ["us-west1-a", "us-east1-b"]},
        "zones: must be of one region, and us-west1-a and us-east1-b are of two",
    ),
    ({"zones": ["us-west1-a", "us-west1-a"]}, 'zones[1]: "us-west1-a" is listed twice'),
    (
        {"instance_types": [{"machine_type": "g2-standard-8"}]},
        "instance_type: has no effect beside instance_types",
    ),
    (
        {
            "instance_types": [
                {"machine_type": "g2-standard-8"},
                {"machine_type": "g2-standard-24"},
            ],
            "instance_type": None,
        },
        "instance_types: must have one number of slots, but g2-standard-8 has 1 and "
        "g2-standard-24 has 2",
    ),
    (
        {"instance_types": [{"machine_type": "g2-standard-1"}], "instance_type": None},
        'instance_types[0].machine_type: "g2-standard-1" is no size of g2-standard',
    ),
    (
        {"instance_types": [{"machine_type": "e2-medium"}] * 2, "instance_type": None},
        "instance_types[1]: is listed twice",
    ),
    (
        {
            "instance_type": {"machine_type": "n1-standard-8", "preemptible": True},
            "spot": "prefer",
        },
        'instance_type.preemptible: contradicts spot "prefer"',
    ),
    ({"name_prefix": "1x"}, 'name_prefix: "1x" cannot begin a name: use lower-case letters'),
    ({"instance_type": {"machine_type": "n1-standard"}}, "instance_type.machine_type: "),
    (
        {"instance_type": {"machine_type": "n1-standard-8", "gpu_num": 3}},
        "instance_type.gpu_num: of nvidia-tesla-t4 a machine has",
    ),
    (
        {"instance_type": {"machine_type": "n1-standard-8", "gpu_type": "k80"}},
        'instance_type.gpu_type: "k80" is no known GPU',
    ),
    ({"boot_disk_source_image": ""}, "boot_disk_source_image: is required: name an image"),
    ({"instance_type": {}}, "instance_type.machine_type: is required: name a machine type"),
]


@covers("scheduling-and-provisioning c.9.machine_types c.9.gpus c.9.disk c.9.interface")
@pytest.mark.parametrize(("options", "text"), WRONG)
def test_a_mistake_is_refused_with_its_remedy(
    tmp_path: Path, options: dict[str, Any], text: str
) -> None:
    [problem] = problems(tmp_path, {**LEAST, **options})
    assert problem.startswith(text)


def test_a_type_that_is_not_known_is_taken_with_its_slots(tmp_path: Path) -> None:
    kind = {"machine_type": "a9-ultragpu-8g"}
    [problem] = problems(tmp_path, {**LEAST, "instance_type": kind})
    assert problem.startswith('instance_type.machine_type: "a9-ultragpu-8g" is no known')
    assert problem.endswith("or set instance_slots to the GPUs that it comes with")
    found = gcp(tmp_path, instance_type=kind, instance_slots=8)
    assert found.gpus == 8
    assert gcp(tmp_path).gpus == 4


@pytest.mark.parametrize(
    ("options", "source"),
    [
        ({"zone": "us-west1-a"}, "zones/us-west1-a/disks/data"),
        ({"zones": ["us-west1-a", "us-west1-b"]}, "projects/lab/regions/us-west1/disks/data"),
        ({"zones": ["us-west1-a"]}, "https://x/compute/v1/projects/p/zones/us-west1-a/disks/d"),
        ({}, "zones/us-west1-a/disks/data"),
    ],
)
def test_a_disk_that_all_machines_reach_is_taken(
    tmp_path: Path, options: dict[str, Any], source: str
) -> None:
    disk = {**DATA, "source": source}
    assert gcp(tmp_path, base_config={"disks": [disk]}, **options).base_config["disks"] == [disk]


def warnings(tmp_path: Path, **options: Any) -> list[str]:
    return [w for w in read(tmp_path, {**LEAST, **options}).warnings if w.startswith(AT)]


def test_one_disk_that_several_machines_would_write_to_is_warned_of(tmp_path: Path) -> None:
    disk = {"source": "zones/us-west1-a/disks/data"}
    [warning] = warnings(tmp_path, base_config={"disks": [disk]})
    assert warning.startswith(f"{AT}.base_config.disks[0].mode: is not READ_ONLY, and GCP")
    assert warnings(tmp_path, base_config={"disks": [disk]}, max_instances=1) == []
    assert warnings(tmp_path, base_config={"disks": [DATA]}) == []


def test_an_external_address_on_the_default_network_is_not_warned_of(tmp_path: Path) -> None:
    address = {"external_ip": True}
    assert warnings(tmp_path, network_interface=address) == []
    base = {"networkInterfaces": [{"network": "global/networks/mine"}]}
    [warning] = warnings(tmp_path, network_interface=address, base_config=base)
    assert warning.startswith(
        f"{AT}.network_interface.external_ip: has no effect beside base_config.networkInterfaces"
    )
