"""Ports of containers that share a machine."""

from __future__ import annotations

import json
import pathlib

import pytest
from tests.harness.launch.test_launchers import info

from determined.launch import _peers, deepspeed, horovod, tensorflow

PORTS = {"DTRAIN_SSH_PORT": [12350, 12351], "C10D_PORT": [29400, 29401]}


@pytest.fixture
def ssh_dir(tmp_path: pathlib.Path, monkeypatch: pytest.MonkeyPatch) -> pathlib.Path:
    monkeypatch.setenv("DET_RUN_DIR", str(tmp_path))
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path))
    (tmp_path / "ssh").mkdir()
    return tmp_path / "ssh"


@pytest.fixture
def shared(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("DET_PORTS_BY_RANK", json.dumps(PORTS))


def test_addresses_and_one_port_do_where_each_has_a_machine(ssh_dir: pathlib.Path) -> None:
    assert _peers.ssh_names(info()) == ["10.0.0.1", "10.0.0.2"]
    assert _peers.ssh_port_options() == ["-p", "12350"]
    assert list(ssh_dir.iterdir()) == []


@pytest.mark.usefixtures("shared")
def test_the_ssh_config_defines_the_names_of_containers(ssh_dir: pathlib.Path) -> None:
    assert _peers.ssh_names(info()) == ["container-0", "container-1"]
    assert (ssh_dir / "hosts").read_text() == (
        "Host container-0\n    HostName 10.0.0.1\n    Port 12350\n"
        "Host container-1\n    HostName 10.0.0.2\n    Port 12351\n"
    )


@pytest.mark.usefixtures("shared")
def test_launchers_name_containers_and_leave_the_port_to_ssh(ssh_dir: pathlib.Path) -> None:
    command = " ".join(horovod.create_run_cmd(info(), []))
    assert "-np 4 -H localhost:2,container-1:2 " in command
    hostfile = deepspeed.write_hostfile(info())
    assert pathlib.Path(hostfile).read_text() == "container-0 slots=2\ncontainer-1 slots=2\n"


@pytest.mark.usefixtures("shared")
def test_tensorflows_workers_have_each_their_port_unless_one_is_asked_for() -> None:
    assert tensorflow.tf_config(info(), 29400)["cluster"] == {
        "worker": ["10.0.0.1:29400", "10.0.0.2:29401"]
    }
    assert tensorflow.tf_config(info(), 5)["cluster"] == {"worker": ["10.0.0.1:5", "10.0.0.2:5"]}
