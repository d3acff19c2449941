"""Finding 11: a task mounts any directory of the machine and adds any capability."""

from __future__ import annotations

from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import pytest
from tests.api import cases_experiments as scene
from tests.api.client import Client
from tests.api.master import PASSWORD, running_services
from tests.api.samples import World
from tests.api.scenes import trials_of
from tests.api.test_container_specs import CONFIG, started
from tests.backends.kubernetes.objects import built, spec
from tests.domain.config.builders import ConfigErrors, ConfigLayers, build

from determined_agent.container.environment import ContainerStart
from determined_agent.container.mounts import MountNotAllowed, with_real_mounts
from determined_master import entropy
from determined_master.api.app import Api
from determined_master.api.table import all_routes
from determined_master.domain.allocation import messages as alloc
from determined_master.ports.orders import PodTerms
from determined_master.services.access.auth import Auth
from determined_master.services.access.identities import Identities
from determined_master.services.access.passwords import Passwords
from determined_master.store.db import Address, Database
from determined_wire.agent_link import ContainerSpec, Mount

LIMITS: dict[str, Any] = {
    "allowed_host_paths": ["/data"],
    "allowed_capabilities": ["CAP_NET_ADMIN"],
    "allowed_devices": ["/dev/fuse"],
    "allow_root": False,
}
ADMINS: dict[str, Any] = {
    "bind_mounts": [{"host_path": "/opt/tools", "container_path": "/tools"}],
    "add_capabilities": ["IPC_LOCK"],
    "devices": [{"host_path": "/dev/infiniband", "container_path": "/dev/infiniband"}],
    "cpu_pod_spec": {"spec": {"volumes": [{"name": "t", "hostPath": {"path": "/opt/pods"}}]}},
}
STORAGE = {"type": "shared_fs", "host_path": "/shared"}


def layers(**defaults: Any) -> ConfigLayers:
    return ConfigLayers(task_container_defaults=defaults, checkpoint_storage=STORAGE)


def pod(**spec: Any) -> dict[str, Any]:
    return {"environment": {"pod_spec": {"spec": spec}}}


def contained(**context: Any) -> dict[str, Any]:
    return pod(containers=[{"name": "x", "image": "x", "securityContext": context}])


@pytest.mark.parametrize(
    ("asked", "path"),
    [
        ({"bind_mounts": [{"host_path": "/", "container_path": "/m"}]}, "bind_mounts[0]"),
        ({"bind_mounts": [{"host_path": "/data/../etc", "container_path": "/m"}]}, "bind_mounts"),
        ({"bind_mounts": [{"host_path": "/database", "container_path": "/m"}]}, "bind_mounts"),
        ({"checkpoint_storage": {"type": "shared_fs", "host_path": "/etc"}}, "checkpoint_storage"),
        ({"environment": {"add_capabilities": ["SYS_ADMIN"]}}, "environment.add_capabilities"),
        ({"resources": {"devices": ["/dev/sda:/dev/sda"]}}, "resources.devices[0]"),
        (pod(volumes=[{"name": "v", "hostPath": {"path": "/"}}]), "pod_spec.spec.volumes"),
        (pod(volumes=[{"name": "v", "host_path": {"path": "/etc"}}]), "pod_spec.spec.volumes"),
        (pod(hostPID=True), "pod_spec.spec.hostPID"),
        (pod(host_i_p_c=True), "pod_spec.spec.hostIPC"),
        (contained(privileged=True), "pod_spec.spec.containers"),
        (contained(capabilities={"add": ["SYS_PTRACE"]}), "pod_spec.spec.containers"),
        (contained(runAsUser=0), "pod_spec.spec.containers"),
        (pod(securityContext={"run_as_non_root": False}), "pod_spec.spec.securityContext"),
    ],
)
def test_parts_that_are_not_allowed_are_refused_at_submission(
    asked: dict[str, Any], path: str
) -> None:
    assert build(layers(), **asked), "without limits, as in 0.38.1"
    with pytest.raises(ConfigErrors, match="is not allowed") as refused:
        build(layers(**LIMITS), **asked)
    assert path in str(refused.value)


def test_allowed_parts_and_those_of_the_admins_defaults_are_accepted() -> None:
    made = build(
        layers(**LIMITS, **ADMINS),
        bind_mounts=[{"host_path": "/data/team/x", "container_path": "/x"}],
        environment={"add_capabilities": ["net_admin"]},
        resources={"devices": ["/dev/fuse:/dev/fuse"], "slots_per_trial": 0},
    )
    assert len(made.config["bind_mounts"]) == 2
    assert made.config["checkpoint_storage"]["host_path"] == "/shared"


def test_a_privileged_container_of_the_admin_allows_no_other_one() -> None:
    agent = {"name": "net", "image": "net", "securityContext": {"privileged": True}}
    defaults = {"cpu_pod_spec": {"spec": {"containers": [agent]}}}
    slots = {"resources": {"slots_per_trial": 0}}
    assert build(layers(**LIMITS, **defaults), **slots)
    for other in ({**agent, "image": "mine"}, {**agent, "name": "other"}):
        with pytest.raises(ConfigErrors, match="privileged is not allowed"):
            build(layers(**LIMITS, **defaults), **slots, **pod(containers=[other]))


@pytest.fixture
async def world(database: Address, pool: Database, passwords: Passwords) -> AsyncIterator[World]:
    """A master whose admin allows /data and no root, and an experiment of before."""
    defaults = {"allowed_host_paths": ["/data"], "allow_root": False}
    running = running_services(database, pool, passwords, task_container_defaults=defaults)
    async with running as (services, engine):
        api = Api(all_routes(), services, services[Identities])
        opened = await services[Auth].login("admin", PASSWORD, is_hashed=False)
        yield World(services, engine, {}, {"admin": Client(api, opened.token)})
        api.close()


@pytest.mark.slow
async def test_a_task_of_an_older_configuration_does_not_start(world: World) -> None:
    admin = world.clients["admin"]
    made = await admin("POST", "/api/v1/experiments", {"config": CONFIG, "activate": True})
    [trial] = await trials_of(world, made.json()["experiment"]["id"])
    path = f"/api/v1/tasks/{trial['taskId']}"
    await scene.until(admin, path, lambda got: got["task"]["allocations"])
    placed = alloc.Placed(str(entropy.new_uuid()), "a1", (0,))
    await scene.post(world, {"allocation_id": f"{trial['taskId']}.1"}, alloc.Assigned((placed,)))

    async def log() -> str:
        return (await admin("GET", f"{path}/logs")).body.decode()

    await scene.until_true(log, lambda text: "as root (uid 0) is not allowed" in text, [])
    assert world.orders() == []


@pytest.mark.slow
async def test_limits_reach_the_agents(world: World) -> None:
    linked = {"agentUid": 1000, "agentGid": 1000, "agentUser": "ann", "agentGroup": "ann"}
    body = {"agentUserGroup": linked}
    assert (await world.clients["admin"]("PATCH", "/api/v1/users/1", body)).status == 200
    [made] = await started(world, CONFIG, "a1")
    assert made.host_roots == ("/data", "/tmp/storage")
    assert not made.allow_root


def start(spec: ContainerSpec) -> ContainerStart:
    return ContainerStart(container_id="c", devices=(), spec=spec, master=None)  # type: ignore[arg-type]


def test_a_link_in_an_allowed_directory_does_not_lead_out(tmp_path: Path) -> None:
    (tmp_path / "data" / "real").mkdir(parents=True)
    (tmp_path / "etc").mkdir()
    (tmp_path / "data" / "link").symlink_to(tmp_path / "etc")
    (tmp_path / "data" / "inner").symlink_to("real")
    roots = (str(tmp_path / "data"),)

    def mounted(name: str) -> ContainerStart:
        mount = Mount(str(tmp_path / "data" / name), "/m")
        return start(spec(mounts=(mount,), host_roots=roots))

    with pytest.raises(MountNotAllowed, match="allowed_host_paths"):
        with_real_mounts(mounted("link"))
    with pytest.raises(MountNotAllowed):
        with_real_mounts(mounted("../etc"))
    [mount] = with_real_mounts(mounted("inner")).spec.mounts
    assert mount.host_path == str(tmp_path / "data" / "real")
    free = start(spec(mounts=(Mount("/", "/m"),)))
    assert with_real_mounts(free) is free


def test_a_pod_without_root_runs_no_container_as_root() -> None:
    own = {"spec": {"securityContext": {"runAsNonRoot": False, "fsGroup": 7}}}
    terms = PodTerms(pool="default", pod_spec=own)
    made = built(spec=spec(allow_root=False), pod=terms)
    context = made.pod["spec"]["securityContext"]
    assert (context["runAsNonRoot"], context["fsGroup"]) == (True, 7)
    assert built(pod=terms).pod["spec"]["securityContext"]["runAsNonRoot"] is False


@pytest.mark.slow
async def test_a_workspace_gets_no_storage_that_its_experiments_may_not_mount(
    world: World,
) -> None:
    admin = world.clients["admin"]
    made = await admin("POST", "/api/v1/workspaces", {"name": "team"})
    own = f"/api/v1/workspaces/{made.json()['workspace']['id']}"
    bad = {"type": "shared_fs", "host_path": "/data/../etc"}
    for method, path in (("POST", "/api/v1/workspaces"), ("PATCH", own)):
        body = {"name": "more", "checkpointStorageConfig": bad}
        refused = await admin(method, path, body)
        assert refused.status == 400
        assert "checkpoint_storage_config.host_path: the directory /etc" in refused.text
    for good in ("/data/team", "/tmp/storage"):
        body = {"checkpointStorageConfig": {**bad, "host_path": good}}
        assert (await admin("PATCH", own, body)).status == 200
