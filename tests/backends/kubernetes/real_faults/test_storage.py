"""A real etcd that is full, and objects that a real API server finds too large."""

from __future__ import annotations

import asyncio
import base64
import random
from collections.abc import AsyncIterator, Iterator
from pathlib import Path

import pytest
from msgspec.structs import replace
from tests.backends.kubernetes.real_faults.conftest import create_node, world_at
from tests.contracts.kubernetes_contract import World
from tests.contracts.kubernetes_faults_contract import (
    failure_of,
    repeated,
    started,
    warnings,
)
from tests.real_kubernetes.control_plane import ControlPlane, Etcd, control_plane

from determined_master.backends.kubernetes.client import KubernetesUnreachable
from determined_master.ports.agents import NotConnected
from determined_master.ports.orders import PodTerms, StartOrder
from determined_wire.agent_link import File

pytestmark = [pytest.mark.slow, pytest.mark.xdist_group("storage of a real cluster")]
MIB = 2**20


@pytest.fixture
def plane(programs: Path, tmp_path: Path) -> Iterator[ControlPlane]:
    """A control plane whose etcd takes 16 MiB."""
    with control_plane(tmp_path, programs, etcd=f"--quota-backend-bytes={16 * MIB}") as made:
        made.run_controllers()
        yield made


@pytest.fixture
async def world(plane: ControlPlane, master: int) -> AsyncIterator[World]:
    async with world_at(str(plane.server.kubeconfig), master) as made:
        await create_node(made.api, "alone")
        await made.open()
        yield made


async def fill(world: World) -> None:
    """Create Secrets until etcd takes nothing more."""
    data = {"x": base64.b64encode(bytes(MIB - 1024)).decode()}
    for number in range(32):
        body = {"metadata": {"name": f"ballast-{number}", "labels": {"is": "ballast"}}}
        try:
            await world.api.call(
                "POST", "/api/v1/namespaces/default/secrets", body={**body, "data": data}
            )
        except KubernetesUnreachable as error:
            if "database space exceeded" in str(error):
                return
            raise
    raise AssertionError("etcd takes everything")


async def test_a_real_etcd_that_is_full_is_named_with_the_remedy_which_works(
    world: World, plane: ControlPlane
) -> None:
    running, late = world.order("true"), world.order("true")
    await world.backend.start_container(running)
    await fill(world)
    starting = asyncio.create_task(started(world, late))
    await world.until(lambda: warnings(world), "a warning")
    [note] = warnings(world)
    assert note.startswith("its pod cannot be created yet, and is tried again: ")
    assert "etcdserver: mvcc: database space exceeded" in note
    assert "compact and defragment etcd" in note
    with pytest.raises(NotConnected, match="database space exceeded"):
        await end(world, running)  # not even a deletion is possible
    free(plane.etcd)
    assert await starting
    assert world.backend.pod_of(late.container_id) is not None
    assert len(warnings(world)) == 1
    await repeated(lambda: end(world, running))
    await world.state(running.container_id, "TERMINATED")


async def end(world: World, made: StartOrder) -> None:
    await world.backend.signal_container(made.agent_id, made.container_id, 9)


def free(etcd: Etcd) -> None:
    """Take the ballast out, compact, defragment and withdraw the alarm, as an admin does."""
    first = b"/registry/secrets/default/ballast-"
    key, after = (base64.b64encode(b).decode() for b in (first, first[:-1] + b"."))
    etcd.call("kv/deleterange", key=key, range_end=after)
    etcd.compact()
    etcd.call("maintenance/defragment")
    for alarm in etcd.call("maintenance/alarm", action="GET")["alarms"]:
        etcd.call("maintenance/alarm", action="DEACTIVATE", **alarm)


async def test_a_secret_of_one_mib_is_taken_by_a_real_cluster_and_a_larger_one_is_named(
    world: World,
) -> None:
    small = world.order("true")
    spare = 32 * 1024  # for the variables, and what packs the file
    fits = replace(small.spec, files=(File("/run/determined/big", noise(MIB - spare)),))
    await world.backend.start_container(replace(small, spec=fits))
    assert world.backend.pod_of(small.container_id) is not None
    assert await world.count("secrets") == 1
    large = world.order("true")
    spec = replace(large.spec, files=(File("/run/determined/big", noise(2 * MIB)),))
    await world.backend.start_container(replace(large, spec=spec))
    said = failure_of(world, large)
    assert "a Secret of Kubernetes takes at most 1 MiB" in said
    assert "the largest is the file /run/determined/big with 2.0 MiB" in said
    assert (await world.count("pods"), await world.count("secrets")) == (1, 1)


@pytest.mark.parametrize("mib", [2, 4])
async def test_a_pod_that_etcd_or_the_api_server_does_not_take_fails_with_the_reason(
    world: World, mib: int
) -> None:
    side = {"name": "side", "image": "x", "env": [{"name": "A", "value": "x" * mib * MIB}]}
    own = PodTerms(pool="default", pod_spec={"spec": {"containers": [side]}})
    made = world.order("true", pod=own)
    await world.backend.start_container(made)
    said = failure_of(world, made)
    assert "too large" in said
    assert "environment.pod_spec" in said
    assert await world.count("pods") == 0


def noise(size: int) -> bytes:
    """Bytes that cannot be packed any smaller, the same in every run."""
    return random.Random(1).randbytes(size)
