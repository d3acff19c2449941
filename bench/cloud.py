"""A cluster with pools of machines on demand, and the EC2 on loopback that it starts them in."""

from __future__ import annotations

import contextlib
import json
import logging
import shutil
import tempfile
import uuid
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from tests import wheelhouses
from tests.backends.cloud.ec2_server import ACCOUNT_VARIABLES, IMAGE, Ec2Server, running_ec2
from tests.e2e.cluster import Cluster, Way

from determined_deploy.cloud.wheel import AGENT_EXTRAS

POOL = "default"
INSTANCE_TYPE = "g4dn.xlarge"
"""Its machines have one slot."""
_BARE = {
    "instance_type": "m5.large",
    "cpu_slots_allowed": True,
    "agent_config_file_contents": {"container_runtime": "process"},
}
"""Of machines that are this one: without GPUs and Docker."""


@contextlib.contextmanager
def cloud_cluster(
    *, pools: int = 1, max_instances: int = 4, master_host: str = "", has_wheelhouse: bool = False
) -> Iterator[tuple[Cluster, Ec2Server]]:
    """A master without agents; both are gone at the end.

    Args:
        pools: the number of pools with machines on demand.
        max_instances: of each pool.
        master_host: where machines find the master; a name that nobody has by default.
        has_wheelhouse: machines have no image of the agent, and install it from the master alone.
    """
    root = Path(tempfile.mkdtemp(prefix="det-bench-", dir="/tmp"))
    root.chmod(0o711)
    logging.getLogger("werkzeug").setLevel(logging.ERROR)  # it prints each request
    with pytest.MonkeyPatch.context() as patch, running_ec2(patch) as ec2:
        cluster = Cluster(root, agents=0, slots=1)
        master_url = f"http://{master_host or 'det.example'}:{cluster.port}"
        settings = _settings(root, pools, max_instances, master_url)
        variables = {**ACCOUNT_VARIABLES, "AWS_ENDPOINT_URL_EC2": ec2.url}
        if has_wheelhouse:
            variables["PYTHONPATH"] = str(wheelhouses.release(root, *AGENT_EXTRAS)[1])
            settings["wheelhouse"] = str(root / "house")
            for pool in settings["resource_pools"]:
                del pool["provider"]["agent_docker_image"]
                pool["provider"] |= _BARE
        cluster.settings = json.dumps(settings)
        words = [f"{name}={value}" for name, value in variables.items()]
        cluster.ways["master"] = Way(prefix=("env", *words))
        try:
            cluster.start()
            yield cluster, ec2
        finally:
            cluster.stop()
            shutil.rmtree(root, ignore_errors=True)


def experiment(name: str, **more: Any) -> dict[str, Any]:
    """The configuration of an experiment of one trial on one slot."""
    return {
        "name": f"bench {name}",
        "entrypoint": "python3 t.py",
        "searcher": {"name": "single", "metric": "loss"},
        "max_restarts": 0,
        **more,
    }


def launches(ec2: Ec2Server) -> list[float]:
    """When each launch was asked for, by `time.monotonic`."""
    asked = zip(list(ec2.times_s), list(ec2.requests), strict=False)
    return [at for at, call in asked if call.get("Action") == "RunInstances"]


def _settings(root: Path, pools: int, max_instances: int, master_url: str) -> dict[str, Any]:
    tag = f"bench-{uuid.uuid4()}"  # the service keeps its instances for as long as its process

    def pool(name: str) -> dict[str, Any]:
        provider = {
            "type": "aws",
            "region": "us-west-2",
            "image_id": IMAGE,
            "ssh_key_name": "key",
            "instance_type": INSTANCE_TYPE,
            "agent_docker_image": "lab/agent:1",
            "master_url": master_url,
            "tag_value": tag,
            "max_instances": max_instances,
        }
        return {"pool_name": name, "provider": provider}

    return {
        "resource_pools": [pool(POOL), *(pool(f"other-{n}") for n in range(1, pools))],
        "checkpoint_storage": {
            "type": "shared_fs",
            "host_path": str(root / "checkpoints"),
            "create": True,
            "shared": True,
        },
    }
