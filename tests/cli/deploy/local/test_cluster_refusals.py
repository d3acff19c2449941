"""Refusals of `det deploy local`, with their remedies."""

from __future__ import annotations

import os
import signal
import socket
import threading
from pathlib import Path

import pytest
from tests.cli.conftest import Det
from tests.cli.deploy.conftest import Clusters, running, until, up

from determined_deploy.local import extras, layout, supervisor_client

pytestmark = pytest.mark.slow


def test_a_busy_port_is_refused_before_anything_starts(
    det: Det, cluster: layout.ClusterLayout
) -> None:
    with socket.create_server(("127.0.0.1", 0)) as held:
        port = held.getsockname()[1]
        words = ("--cluster-name", "c1", "--master-port", str(port))
        outcome = det("deploy", "local", "cluster-up", *words)
    assert outcome.status == 1
    assert f"port {port} is in use by pid {os.getpid()}" in outcome.err
    assert "--master-port" in outcome.err
    assert running(cluster) == set()


@pytest.mark.parametrize("value", ["99999", "0", "-1"])
def test_an_invalid_port_is_refused(det: Det, cluster: layout.ClusterLayout, value: str) -> None:
    words = ("--cluster-name", "c1", "--master-port", value)
    outcome = det("deploy", "local", "cluster-up", *words)
    assert outcome.status == 1
    assert f"port {value}: it must be a number from 1 to 65535" in outcome.err


def test_the_error_names_an_unreadable_config_file(
    det: Det, cluster: layout.ClusterLayout, tmp_path: Path
) -> None:
    config = tmp_path / "own.yaml"
    words = ("--cluster-name", "c1", "--master-config-path", str(config))
    for content, problem in (
        (b"port: abc\n", "port 'abc': it must be a number"),
        (b"\xff\xfe", f"'{config}', line 1: byte 0xff is not UTF-8 text: save it as UTF-8"),
        (b"- a\n", "this is a list"),
    ):
        config.write_bytes(content)
        outcome = det("deploy", "local", "cluster-up", *words)
        assert outcome.status == 1
        assert problem in outcome.err


def test_another_port_for_a_running_cluster_is_refused(
    det: Det, cluster: layout.ClusterLayout, port: int
) -> None:
    up(det, port)
    words = ("--cluster-name", "c1", "--master-port", str(port + 1))
    outcome = det("deploy", "local", "cluster-up", *words)
    assert outcome.status == 1
    assert "already up at" in outcome.err


def test_a_warning_names_the_options_that_a_running_master_ignores(
    det: Det, cluster: layout.ClusterLayout, port: int, tmp_path: Path
) -> None:
    config = tmp_path / "own.yaml"
    config.write_text("cluster_name: other\n")
    storage = ("--storage-host-path", str(tmp_path / "saved"))
    up(det, port, *storage)
    words = ("d", "local", "cluster-up", "--cluster-name", "c1", "--no-gpu")
    assert det(*words, *storage, "--listen", "127.0.0.1").err == ""
    asked = ("--master-config-path", str(config), "--delete-db", "--initial-user-password", "x")
    outcome = det(*words, *asked)
    assert outcome.status == 0
    assert outcome.err == (
        "the master of cluster 'c1' is already running, so --master-config-path, "
        "--initial-user-password, --delete-db had no effect; stop it first with 'det deploy "
        "local cluster-down --cluster-name c1'\n"
    )
    assert "already up" in outcome.out


def test_an_initial_password_for_an_existing_database_only_warns(
    det: Det, cluster: layout.ClusterLayout, port: int
) -> None:
    up(det, port)
    det("d", "local", "cluster-down", "--cluster-name", "c1")
    (cluster.database / "data").mkdir(parents=True, exist_ok=True)
    words = ("--cluster-name", "c1", "--master-port", str(port), "--no-gpu")
    outcome = det("d", "local", "cluster-up", *words, "--initial-user-password", "Secret-1234")
    assert "--initial-user-password applies to a new database" in outcome.err


def test_a_blank_initial_password_is_refused(det: Det, cluster: layout.ClusterLayout) -> None:
    words = ("--cluster-name", "c1", "--initial-user-password", "")
    outcome = det("d", "local", "cluster-up", *words)
    assert outcome.status == 1
    assert "--initial-user-password is blank" in outcome.err
    assert running(cluster) == set()


def test_the_error_names_a_checkpoint_directory_that_cannot_be_created(
    det: Det, cluster: layout.ClusterLayout, port: int, tmp_path: Path
) -> None:
    file = tmp_path / "file"
    file.touch()
    words = ("--cluster-name", "c1", "--master-port", str(port))
    outcome = det("d", "local", "cluster-up", *words, "--storage-host-path", str(file))
    assert outcome.status == 1
    assert f"checkpoint directory {file} cannot be created: it is a file" in outcome.err
    assert "--storage-host-path" in outcome.err


def test_the_error_names_a_cluster_directory_that_cannot_be_created(
    det: Det, home: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "file").touch()
    monkeypatch.setenv("DET_DEPLOY_DIR", str(tmp_path / "file"))
    monkeypatch.setattr(extras, "check", lambda roles: None)
    outcome = det("d", "local", "cluster-up")
    assert outcome.status == 1
    assert f"the cluster directory {tmp_path}/file/determined cannot be created" in outcome.err
    assert "set DET_DEPLOY_DIR" in outcome.err


def test_the_error_for_an_invalid_listen_address_names_the_option(
    det: Det, cluster: layout.ClusterLayout
) -> None:
    words = ("--cluster-name", "c1", "--listen", "192.0.2.1")  # an address of no machine
    outcome = det("d", "local", "cluster-up", *words)
    assert outcome.status == 1
    assert "cannot listen on 192.0.2.1 port 8080" in outcome.err
    assert "give --listen an address of this machine" in outcome.err


def test_the_error_quotes_only_the_log_of_this_start(
    det: Det, cluster: layout.ClusterLayout, port: int, tmp_path: Path
) -> None:
    config = tmp_path / "own.yaml"
    words = ("--cluster-name", "c1", "--master-port", str(port))
    for number in (7, 8):
        config.write_text(f"misbehave: {number}\n")
        outcome = det("d", "local", "cluster-up", *words, "--master-config-path", str(config))
        assert f"asked to end with {number}" in outcome.err
    assert "asked to end with 7" not in outcome.err


def test_the_error_for_a_failed_master_has_the_end_of_its_log(
    det: Det, cluster: layout.ClusterLayout, port: int, tmp_path: Path
) -> None:
    config = tmp_path / "own.yaml"
    config.write_text("misbehave: 7\n")
    words = ("--cluster-name", "c1", "--master-port", str(port))
    outcome = det("deploy", "local", "cluster-up", *words, "--master-config-path", str(config))
    assert outcome.status == 1
    assert "master ended with exit code 1" in outcome.err
    assert "asked to end with 7" in outcome.err
    assert running(cluster) == set()
    until(lambda: supervisor_client.find_supervisor(cluster) is None)


# The signal may come while a connection is being made: the socket is then left to the interpreter.
@pytest.mark.filterwarnings(
    "ignore:Exception ignored in. <socket:pytest.PytestUnraisableExceptionWarning"
)
def test_an_interrupted_start_stops_all_processes(
    det: Det, cluster: layout.ClusterLayout, port: int, tmp_path: Path
) -> None:
    config = tmp_path / "master.yaml"
    config.write_text("mute: 1\n")

    def interrupt() -> None:
        until(lambda: running(cluster) == {"master", "c1-agent-0"})
        os.kill(os.getpid(), signal.SIGINT)

    watching = threading.Thread(target=interrupt)
    watching.start()
    words = (
        "--cluster-name",
        "c1",
        "--master-port",
        str(port),
        "--master-config-path",
        str(config),
    )
    outcome = det("deploy", "local", "cluster-up", "--no-gpu", *words)
    watching.join()
    assert outcome.status == 130
    assert outcome.err.endswith("interrupted: stopping the started processes\n")
    assert running(cluster) == set()
    assert supervisor_client.find_supervisor(cluster) is None


def test_a_config_with_tls_is_refused(
    det: Det, cluster: layout.ClusterLayout, tmp_path: Path
) -> None:
    config = tmp_path / "own.yaml"
    config.write_text("security: {tls: {cert: c, key: k}}\n")
    words = ("--cluster-name", "c1", "--master-config-path", str(config))
    outcome = det("deploy", "local", "cluster-up", *words)
    assert outcome.status == 1
    assert "for HTTPS run determined-master and determined-agent yourself" in outcome.err


def test_agents_of_an_unknown_cluster_cannot_be_stopped(det: Det, clusters: Clusters) -> None:
    outcome = det("d", "local", "agent-down", "--cluster-name", "never")
    assert outcome.status == 1
    assert "there is no cluster 'never' on this machine" in outcome.err
    assert "name yours with --cluster-name" in outcome.err


def test_names_that_are_not_valid_file_names_are_refused(det: Det, clusters: Clusters) -> None:
    for name in ("../x", "", "a/b"):
        outcome = det("deploy", "local", "cluster-up", "--cluster-name", name)
        assert outcome.status == 1
        assert "is not valid" in outcome.err


def test_the_error_for_missing_servers_has_the_install_command(
    det: Det, home: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(extras._NEEDS, "agent", ("nosuch_module.main",))
    outcome = det("deploy", "local", "agent-up", "localhost")
    assert outcome.status == 1
    assert "pip install 'determined-platform[master,agent]'" in outcome.err
