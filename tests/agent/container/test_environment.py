"""The environment variables of a task."""

from __future__ import annotations

from typing import Any

import pytest
from tests.agent_link import spec
from tests.covers import covers

from determined_agent.container.environment import (
    ContainerStart,
    HostEnvironment,
    MasterIdentity,
    agent_variables,
    ignored_options,
    process_environment,
    to_host_path,
)
from determined_agent.settings.options import SecuritySettings, Settings, TlsSettings
from determined_wire import images
from determined_wire.agent_link import Device, File, Mount, TaskUser

HOST = HostEnvironment(
    python="/venv/bin/python", path="/usr/bin", home="/root", pythonpath="/harness"
)


def settings(**overrides: Any) -> Settings:
    values: dict[str, Any] = {"master_host": "m", "master_port": 8080, "agent_id": "a"}
    return Settings(**(values | overrides))


def start(**overrides: Any) -> ContainerStart:
    devices = overrides.pop("devices", ())
    return ContainerStart(
        container_id="c",
        devices=devices,
        spec=spec("pass", **overrides),
        master=MasterIdentity(master_id="mid", cluster_id="cid"),
    )


@covers("agent-config 5.env")
def test_the_agent_sets_the_variables_of_the_task_contract() -> None:
    devices = (Device(0, "b", "u0", "cpu"), Device(2, "b", "u2", "cpu"))
    assert agent_variables(start(devices=devices), settings()) == {
        "DET_MASTER": "http://m:8080",
        "DET_MASTER_HOST": "m",
        "DET_MASTER_ADDR": "m",
        "DET_MASTER_PORT": "8080",
        "DET_MASTER_ID": "mid",
        "DET_CLUSTER_ID": "cid",
        "DET_AGENT_ID": "a",
        "DET_CONTAINER_ID": "c",
        "DET_SLOT_IDS": "[0,2]",
        "DET_SLOT_TYPE": "cpu",
    }


@covers("agent-config 2.container_master_host 2.container_master_port")
@covers("agent-config 2.tls.master_cert_name 5.env_cert_name")
def test_tasks_may_use_another_address_of_the_master_and_tls() -> None:
    tls = SecuritySettings(tls=TlsSettings(enabled=True, master_cert_name="name"))
    variables = agent_variables(
        start(),
        settings(container_master_host="fe80::1", container_master_port=9, security=tls),
    )
    assert variables["DET_MASTER"] == "https://[fe80::1]:9"
    assert variables["DET_MASTER_HOST"] == "fe80::1"
    assert variables["DET_MASTER_CERT_NAME"] == "name"


@covers("agent-config 2.proxies 5.env_proxies")
def test_a_proxy_is_added_unless_the_task_sets_it_in_upper_or_lower_case() -> None:
    given = start(environment={"http_Proxy": "own"})
    proxies = settings(http_proxy="p", https_proxy="q", ftp_proxy="r", no_proxy="s")
    variables = agent_variables(given, proxies)
    assert "HTTP_PROXY" not in variables
    names = ("HTTPS_PROXY", "FTP_PROXY", "NO_PROXY")
    assert [variables[name] for name in names] == ["q", "r", "s"]


@pytest.mark.parametrize(
    ("path", "there"),
    [
        ("/run/determined", "/here"),
        ("/run/determined/train/x", "/here/train/x"),
        ("/run/determined2/x", "/run/determined2/x"),
        ("x /run/determined", "x /run/determined"),
    ],
)
def test_only_paths_below_the_run_directory_are_mapped_to_the_host(path: str, there: str) -> None:
    assert to_host_path(path, "/here") == there


def test_a_user_may_override_variables_of_the_master_but_not_of_the_agent() -> None:
    given = {"PATH": "/mine", "DET_AGENT_ID": "no", "PYTHONPATH": "/lib", "X": "1"}
    env = process_environment(start(environment=given), settings(), HOST, "/here")
    assert (env["PATH"], env["X"], env["DET_AGENT_ID"]) == ("/mine", "1", "a")
    assert env["PYTHONPATH"] == "/harness:/lib"


@pytest.mark.parametrize(
    ("given", "path"),
    [
        ({}, "/venv/bin:/usr/bin"),
        ({"DET_PYTHON_EXECUTABLE": "/opt/py/bin/python3"}, "/opt/py/bin:/usr/bin"),
        ({"DET_PYTHON_EXECUTABLE": "python3"}, "/usr/bin"),
    ],
)
def test_python3_is_the_agents_unless_the_task_names_another(
    given: dict[str, str], path: str
) -> None:
    assert process_environment(start(environment=given), settings(), HOST, "/")["PATH"] == path


def test_each_task_sees_only_its_own_gpus() -> None:
    host = HostEnvironment(python="/p", path="", home="/", pythonpath="/h")
    devices = (Device(1, "b", "GPU-1", "cuda"), Device(3, "b", "GPU-3", "cuda"))
    env = process_environment(start(devices=devices), settings(), host, "/")
    assert env["CUDA_VISIBLE_DEVICES"] == "GPU-1,GPU-3"
    processors = (Device(0, "b", "cpu-0", "cpu"),)
    for none in ((), processors):  # the machine may have GPUs that are no slots
        env = process_environment(start(devices=none), settings(), host, "/")
        assert (env["CUDA_VISIBLE_DEVICES"], env["ROCR_VISIBLE_DEVICES"]) == ("", "")


def test_only_options_in_use_are_listed_as_ignored() -> None:
    assert ignored_options(spec("pass"), may_switch_user=True) == []
    for default in (images.published("task-cpu"), "determinedai/pytorch-ngc-dev:0736b6d"):
        assert ignored_options(spec("pass", image=default), may_switch_user=True) == []
    own = ignored_options(spec("pass", image="registry.example/own:1"), may_switch_user=True)
    assert own == ["environment.image (registry.example/own:1)"]
    ignored = ignored_options(
        spec(
            "pass",
            user=TaskUser("u", 5, "g", 5),
            files=(File("/etc/ssh/ssh_config", b""),),
            mounts=(Mount("/a", "/b"), Mount("/s", "/determined_shared_fs")),
        ),
        may_switch_user=False,
    )
    assert ignored == [
        "bind_mounts (paths are those of the host)",
        "the agent user u (the agent does not run as root)",
        "the file /etc/ssh/ssh_config",
    ]
