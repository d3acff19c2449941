"""What the containers of interactive tasks are started with."""

from __future__ import annotations

import json
from typing import Any

import msgspec
import pytest
from tests.covers import covers

from determined_master.domain.interactive_task.tensorboard_sources import LogSource
from determined_master.domain.task.proxy_port import ProxyPort
from determined_master.domain.task.ssh_files import KeyPair
from determined_master.services.containers.interactive_specs import (
    InteractiveSpec,
    TaskSecrets,
    TaskToStart,
    spec_of,
)

SECRETS = TaskSecrets(
    ssh_keys=KeyPair(b"PRIVATE", b"ssh-ed25519 AAAA"),
    notebook_token="notebook-token",
    certificate=b"CERT",
    certificate_key=b"KEY",
    service_key="service-key",
)
PORTS = {"notebook": 2900, "shell": 3200, "tensorboard": 2600}


def build(kind: Any, secrets: TaskSecrets = SECRETS, **task: Any) -> InteractiveSpec:
    config = {
        "environment": {},
        "debug": False,
        **task.pop("config", {}),
    }
    if kind == "command":
        task["arguments"] = ("echo", "a b")
    task.setdefault("idle_type", "activity")
    port = task.pop("port", PORTS.get(kind, 0))
    whole = TaskToStart(kind=kind.upper(), task_id="abc", config=config, port=port, **task)
    return spec_of(whole, secrets, "cuda")


def files(spec: InteractiveSpec) -> dict[str, tuple[bytes, int]]:
    return {file.path: (file.content, file.mode) for file in spec.files}


@covers("helm-and-kubernetes 7.description")
def test_a_command_runs_its_entrypoint_and_is_not_proxied() -> None:
    spec = build("command")
    assert spec.entrypoint == ("python3", "-m", "determined.exec.entry", "command", "echo", "a b")
    assert (spec.files, spec.ports, spec.proxy_ports, spec.mounts) == ((), (), (), ())
    assert spec.description == "cmd-abc"


@covers("task-contract 2.1.shell 7.5.proxied")
def test_a_shell_has_its_keys_and_a_bare_tcp_port() -> None:
    spec = build("shell")
    assert spec.entrypoint[3:] == ("shell", "3200")
    assert spec.proxy_ports == (
        ProxyPort(3200, is_tcp=True, admits_readers=True, is_default=True),
    )
    assert spec.ports == (3200,)
    found = files(spec)
    ssh = "/run/determined/ssh/"
    assert found[ssh + "authorized_keys_unmodified"] == (b"ssh-ed25519 AAAA\n", 0o644)
    assert found[ssh + "id_rsa"] == (b"PRIVATE", 0o600)
    assert found[ssh + "id_rsa.pub"] == (b"ssh-ed25519 AAAA\n", 0o600)
    assert (
        b"AuthorizedKeysFile /run/determined/ssh/authorized_keys\n"
        in (found[ssh + "sshd_config"][0])
    )
    assert not any(file.is_root_owned for file in spec.files)


@covers("task-contract 2.1.notebook 2.1.welcome 2.3.notebook")
def test_a_notebook_has_its_certificate_its_token_and_a_welcome() -> None:
    spec = build("notebook", config={"environment": {"registry_auth": {"password": "hush"}}})
    assert spec.entrypoint[3:] == ("notebook",)
    assert spec.proxy_ports == (ProxyPort(2900, is_default=True, is_tls=True),)
    environment = dict(spec.environment)
    config = json.loads(environment.pop("NOTEBOOK_CONFIG"))
    assert config["environment"]["registry_auth"] == {"password": "********"}
    assert environment == {
        "DET_WORKDIR": "/run/determined/workdir",
        "NOTEBOOK_PORT": "2900",
        "NOTEBOOK_IDLE_TYPE": "activity",
        "DET_NOTEBOOK_TOKEN": "notebook-token",
    }
    found = files(spec)
    assert found["/run/determined/jupyter/jupyterCert.pem"] == (b"CERT", 0o600)
    assert found["/run/determined/jupyter/jupyterKey.key"] == (b"KEY", 0o600)
    welcome, mode = found["/run/determined/workdir/README.ipynb"]
    assert json.loads(welcome)["nbformat"] == 4
    assert mode == 0o644


def test_a_working_directory_of_the_users_gets_no_welcome() -> None:
    spec = build("notebook", work_dir="/home/alice")
    assert spec.environment["DET_WORKDIR"] == "/home/alice"
    assert not any(path.endswith("ipynb") for path in files(spec))


@covers("task-contract 2.1.tensorboard 2.3.tensorboard 7.4.environment")
def test_a_tensorboard_shows_sources_of_several_storages() -> None:
    def source(
        experiment: int, trial: int | None, storage: dict[str, Any], value: str
    ) -> LogSource:
        variables = {"cuda": [f"OF={value}", f"OF_{experiment}=yes"]}
        config = {
            "checkpoint_storage": storage,
            "environment": {"environment_variables": variables},
        }
        return LogSource(experiment_id=experiment, trial_id=trial, config=config)

    here = {"type": "shared_fs", "host_path": "/here"}
    there = {
        "type": "shared_fs",
        "host_path": "/there",
        "propagation": "rshared",
        "create": True,
    }
    bucket = {"type": "s3", "bucket": "b", "secret_key": "hush"}
    spec = build(
        "tensorboard",
        arguments=["--samples_per_plugin=images=10"],
        sources=[
            source(9, None, bucket, "last"),
            source(2, 5, there, "middle"),
            source(2, 4, here, "first"),
            source(3, None, there, "third"),
        ],
    )
    assert spec.entrypoint[3:] == ("tensorboard", "--samples_per_plugin=images=10")
    assert spec.proxy_ports == (ProxyPort(2600, is_default=True, is_keyed=True),)
    content, mode = files(spec)["/run/determined/tensorboard/sources.json"]
    assert mode == 0o600
    assert files(spec)["/run/determined/tensorboard/service-key"] == (b"service-key", 0o600)
    root = "/determined_shared_fs"
    assert json.loads(content) == [
        {"experiment": 2, "trial": 4, "storage": here, "root": root},
        {"experiment": 2, "trial": 5, "storage": there, "root": f"{root}_1"},
        {"experiment": 3, "trial": None, "storage": there, "root": f"{root}_1"},
        {"experiment": 9, "trial": None, "storage": bucket, "root": ""},
    ]
    mounted = [(m.host_path, m.container_path, m.read_only, m.propagation) for m in spec.mounts]
    assert mounted == [
        ("/here", root, True, "rprivate"),
        ("/there", f"{root}_1", True, "rshared"),
    ]
    assert [m.if_missing for m in spec.mounts] == ["fail", "create"]
    environment = spec.environment
    assert (environment["OF"], environment["OF_2"], environment["OF_9"]) == ("last", "yes", "yes")
    assert (environment["TENSORBOARD_PORT"], environment["TF_CPP_MIN_LOG_LEVEL"]) == ("2600", "3")


@covers("task-contract 2.3.user")
def test_the_users_options_are_added() -> None:
    environment = {
        "ports": {"mine": 8000},
        "proxy_ports": [{"proxy_port": 9000, "proxy_tcp": True}],
        "environment_variables": {"cuda": ["NOTEBOOK_IDLE_TYPE=mine"], "cpu": ["A=b"]},
    }
    mount = {"host_path": "/data", "container_path": "/in"}
    spec = build(
        "notebook",
        config={"environment": environment, "bind_mounts": [mount], "debug": True},
    )
    assert spec.ports == (2900, 8000, 9000)
    assert spec.proxy_ports[1] == ProxyPort(9000, is_tcp=True)
    assert [m.host_path for m in spec.mounts] == ["/data"]
    assert spec.environment["NOTEBOOK_IDLE_TYPE"] == "mine"
    assert spec.environment["DET_DEBUG"] == "true"
    assert "A" not in spec.environment


@pytest.mark.parametrize(
    ("kind", "changes", "said"),
    [
        ("shell", {"ssh_keys": None}, "abc has no keys"),
        ("notebook", {"notebook_token": ""}, "abc has no token"),
        ("notebook", {"certificate_key": b""}, "abc has no certificate"),
        ("tensorboard", {}, "needs an experiment or a trial"),
        ("tensorboard", {"service_key": ""}, "abc has no key"),
    ],
)
def test_a_missing_secret_of_a_kind_is_an_error(
    kind: str, changes: dict[str, Any], said: str
) -> None:
    with pytest.raises(ValueError, match=said):
        build(kind, msgspec.structs.replace(SECRETS, **changes))


def test_a_server_needs_a_port() -> None:
    with pytest.raises(ValueError, match="a shell needs a port"):
        build("shell", port=0)
