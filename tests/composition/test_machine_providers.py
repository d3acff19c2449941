"""Which provider starts the machines of which pool."""

from __future__ import annotations

import json
from pathlib import Path

from tests.certificates import Authority

from determined_master.backends.aws.provider import AwsMachines
from determined_master.backends.gcp.provider import GcpMachines
from determined_master.composition.machine_providers import make_providers
from determined_master.settings.master import load
from determined_master.store.cluster.bootstrap import Cluster

AGENT = {"agent_docker_image": "registry.example/agent:1"}
AWS = {
    "type": "aws",
    "image_id": "ami-1",
    "ssh_key_name": "key",
    "region": "us-west-2",
    **AGENT,
}
GCP = {
    "type": "gcp",
    "zone": "us-west1-b",
    "boot_disk_source_image": "projects/lab/global/images/docker",
    "instance_type": {"machine_type": "n1-standard-8"},
    **AGENT,
}


async def test_each_pool_has_the_provider_of_its_type(tmp_path: Path) -> None:
    pair = Authority(tmp_path).sign("det.example")
    pools = {
        "default": None,
        "usual": AWS,
        "spare": {**AWS, "spot": True},
        "google": GCP,
    }
    given = {
        "resource_pools": [{"pool_name": n, "provider": p} for n, p in pools.items()],
        "checkpoint_storage": {"type": "s3", "bucket": "checkpoints"},
        "security": {"tls": {"cert": str(pair.cert), "key": str(pair.key)}},
    }
    file = tmp_path / "master.yaml"
    file.write_text(json.dumps(given))
    settings = load(["--config-file", str(file)], {"HOME": "/home/ada"}, is_root=False)
    cluster = Cluster(cluster_id="c", secret=b"s" * 32)
    made = make_providers(settings, cluster)
    assert {name: type(provider) for name, provider in made.items()} == {
        "usual": AwsMachines,
        "spare": AwsMachines,
        "google": GcpMachines,
    }
    assert made["usual"].type.slots == 8
    assert made["spare"].type.is_preemptible
    assert (made["google"].type.slots, made["google"].type.location) == (4, "us-west1-b")
    for provider in made.values():
        await provider.close()
