"""The request that creates a container."""

from __future__ import annotations

import io
import tarfile
from typing import Any

import pytest
from tests.agent_link import spec
from tests.covers import covers

from determined_agent.container.environment import ContainerStart, MasterIdentity
from determined_agent.runtimes.docker.files import archive
from determined_agent.runtimes.docker.spec import (
    Harness,
    container_name,
    create_body,
    environment,
    loopback_warning,
)
from determined_agent.runtimes.harness import HARNESS_DIR
from determined_agent.settings.options import Settings
from determined_wire.agent_link import Device, File, Mount, TaskUser

HARNESS = Harness({"determined": "/lib/determined", "urllib3": "/lib/urllib3"})


def start(*devices: Device, **overrides: Any) -> ContainerStart:
    return ContainerStart(
        container_id="c-1",
        devices=devices,
        spec=spec("pass", **{"image": "an-image:1", **overrides}),
        master=MasterIdentity(master_id="m", cluster_id="k"),
    )


def settings(**overrides: Any) -> Settings:
    values = {"master_host": "master", "master_port": 8080, "agent_id": "agent-1"}
    return Settings(**{**values, **overrides})


def host_config(made: ContainerStart, **overrides: Any) -> dict[str, Any]:
    found: dict[str, Any] = create_body(made, settings(**overrides), HARNESS)["HostConfig"]
    return found


@covers("agent-config 5.labels")
def test_a_container_has_labels_and_no_auto_remove() -> None:
    body = create_body(start(Device(3, "b", "u", "cpu")), settings(), HARNESS)
    prefix = "ai.determined.container."
    assert {k.removeprefix(prefix): v for k, v in body["Labels"].items()} == {
        "type": "task-container",
        "version": "0",
        "id": "c-1",
        "devices": "3",
        "description": "test",
        "agent": "agent-1",
        "cluster": "k",
        "master": "m",
    }
    assert body["HostConfig"]["AutoRemove"] is False
    assert container_name(start()) == "test-c-1"


def test_the_harness_is_mounted_read_only_and_first_on_pythonpath() -> None:
    made = start(environment={"PYTHONPATH": "/mine"})
    mounts = host_config(made)["Mounts"]
    assert [(m["Source"], m["Target"], m["ReadOnly"]) for m in mounts] == [
        ("/lib/determined", f"{HARNESS_DIR}/determined", True),
        ("/lib/urllib3", f"{HARNESS_DIR}/urllib3", True),
    ]
    assert environment(made, settings())["PYTHONPATH"] == f"{HARNESS_DIR}:/mine"


def test_configured_options_are_passed_to_docker() -> None:
    made = start(
        user=TaskUser("u", 1000, "g", 1001),
        shm_size_bytes=7,
        add_capabilities=("NET_ADMIN",),
        drop_capabilities=("MKNOD",),
        devices=("/dev/fuse:/dev/fuse:rw", "/dev/kvm"),
        mounts=(Mount("/data", "in", True, "rslave"),),
        ports=(1734,),
        network_mode="host",
    )
    body = create_body(made, settings(container_pids_limit=50), HARNESS)
    config = body["HostConfig"]
    assert (body["User"], body["WorkingDir"]) == ("1000:1001", "/run/determined/workdir")
    assert body["ExposedPorts"] == {"1734/tcp": {}}
    assert (config["ShmSize"], config["PidsLimit"], config["NetworkMode"]) == (7, 50, "host")
    assert (config["CapAdd"], config["CapDrop"]) == (["NET_ADMIN"], ["MKNOD"])
    assert [d["CgroupPermissions"] for d in config["Devices"]] == ["rw", "mrw"]
    assert config["Mounts"][-1] == {
        "Type": "bind",
        "Source": "/data",
        "Target": "/run/determined/workdir/in",
        "ReadOnly": True,
        "BindOptions": {"Propagation": "rslave"},
    }


@covers("agent-config 5.cuda")
def test_a_container_sees_only_the_gpus_of_its_slots() -> None:
    config = host_config(start(Device(0, "b", "GPU-a", "cuda"), Device(1, "b", "GPU-b", "cuda")))
    assert config["DeviceRequests"] == [
        {
            "Driver": "nvidia",
            "DeviceIDs": ["GPU-a", "GPU-b"],
            "Capabilities": [["gpu", "compute", "utility"]],
        }
    ]


def test_without_gpus_of_its_own_a_container_sees_none_whatever_its_image_asks_for() -> None:
    hidden = "NVIDIA_VISIBLE_DEVICES=void"
    for devices in ((), (Device(0, "b", "cpu", "cpu"),)):
        assert hidden in create_body(start(*devices), settings(), HARNESS)["Env"]
    gpu = Device(0, "b", "GPU-a", "cuda")
    assert hidden not in create_body(start(gpu), settings(), HARNESS)["Env"]


@covers("agent-config 5.rocm")
def test_a_container_with_rocm_slots_gets_their_device_files() -> None:
    made = start(Device(1, "b", "u", "rocm"))
    nodes = ("/dev/kfd", "/dev/dri/card1", "/dev/dri/renderD129")
    body = create_body(made, settings(), HARNESS, nodes)
    config = body["HostConfig"]
    assert [(d["PathOnHost"], d["CgroupPermissions"]) for d in config["Devices"]] == [
        (node, "rwm") for node in nodes
    ]
    assert (config["SecurityOpt"], config["GroupAdd"]) == (["seccomp=unconfined"], ["video"])
    # inside, the GPUs that it sees count from 0
    assert not any(line.startswith("ROCR_VISIBLE_DEVICES") for line in body["Env"])


def test_dockers_log_is_as_large_as_the_spool() -> None:
    assert host_config(start())["LogConfig"] == {
        "Type": "json-file",
        "Config": {"max-size": str(1024**3), "max-file": "2"},
    }
    assert "LogConfig" not in host_config(start(), container_runtime="podman")


def test_the_error_for_a_missing_image_names_the_option() -> None:
    with pytest.raises(ValueError, match=r"set environment\.image"):
        create_body(start(image=""), settings(), HARNESS)


def test_a_nul_is_refused() -> None:
    with pytest.raises(ValueError, match="a NUL in an argument"):
        create_body(start(environment={"A": "b\0c"}), settings(), HARNESS)


def test_a_master_on_loopback_causes_a_warning_unless_the_network_is_the_hosts() -> None:
    local = settings(master_host="127.0.0.1")
    assert "container_master_host" in str(loopback_warning(start(), local))
    assert loopback_warning(start(network_mode="host"), local) is None
    assert loopback_warning(start(), settings(container_master_host="10.0.0.1")) is None


@covers("agent-config 5.files")
def test_files_have_their_owners_and_modes() -> None:
    what = spec(
        "pass",
        user=TaskUser("u", 1000, "g", 1001),
        files=(
            File("/run/determined/ssh/id_rsa", b"key", 0o600),
            File("/etc/ssh/ssh_config", b"c", 0o644, is_root_owned=True),
        ),
    )
    with tarfile.open(fileobj=io.BytesIO(archive(what, 0))) as tar:
        found = {m.name: (m.mode, m.uid, m.gid) for m in tar}
        content = tar.extractfile("run/determined/etc/passwd")
        assert content is not None
        assert content.read() == b"u:x:1000:1001::/run/determined/workdir:/bin/bash\n"
    assert found == {
        "run/determined": (0o700, 1000, 1001),
        "run/determined/info": (0o755, 1000, 1001),
        "run/determined/pythonuserbase": (0o700, 1000, 1001),
        "run/determined/workdir": (0o700, 1000, 1001),
        "run/determined/ssh": (0o700, 1000, 1001),
        "run/determined/ssh/id_rsa": (0o600, 1000, 1001),
        "etc/ssh/ssh_config": (0o644, 0, 0),
        "run/determined/etc": (0o755, 0, 0),
        "run/determined/etc/passwd": (0o644, 0, 0),
        "run/determined/etc/shadow": (0o600, 0, 0),
        "run/determined/etc/group": (0o644, 0, 0),
    }


def test_a_file_that_would_leave_its_directory_is_refused() -> None:
    with pytest.raises(ValueError, match="outside of its directory"):
        archive(spec("pass", files=(File("/run/determined/../../x", b""),)), 0)
