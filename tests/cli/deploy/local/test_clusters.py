"""`det deploy local` as a user runs it: up, up again, down, also after crashes."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from pathlib import Path

import pytest
from tests.cli.conftest import Det
from tests.cli.deploy.conftest import Clusters, running, until, up
from tests.covers import covers
from tests.free_ports import free_port

from determined.common import master_contexts
from determined.common.api import authentication
from determined_deploy.local import layout, processes, specs, stop, supervisor_client

pytestmark = pytest.mark.slow


def test_up_starts_master_and_agents_and_logs_in(
    det: Det, cluster: layout.ClusterLayout, port: int
) -> None:
    out = up(det, port, "--agents", "2")
    address = f"http://127.0.0.1:{port}"
    assert f"cluster 'c1' is up at {address}" in out
    assert "2 with 2 slots" in out
    assert "det deploy local cluster-down --cluster-name c1" in out
    assert "det deploy local logs --cluster-name c1" in out
    assert det("context", "show").out == f"{address} (context local-c1)\n"
    assert running(cluster) == {"master", "c1-agent-0", "c1-agent-1"}
    for name in (address, f"http://localhost:{port}"):  # the second is what det uses by default
        store = authentication.TokenStore(name)
        assert (store.active_user, store.token_of("determined")) == ("determined", "token")


def test_a_second_up_changes_nothing(det: Det, cluster: layout.ClusterLayout, port: int) -> None:
    up(det, port)
    before = specs.list_status(cluster.status)
    assert f"cluster 'c1' is already up at http://127.0.0.1:{port}" in up(det, port)
    assert specs.list_status(cluster.status) == before


def test_down_stops_all_processes_and_a_second_down_changes_nothing(
    det: Det, cluster: layout.ClusterLayout, port: int
) -> None:
    up(det, port)
    left = [status.process for status in specs.list_status(cluster.status).values()]
    left.append(supervisor_client.find_supervisor(cluster))
    out = det("d", "local", "cluster-down", "--cluster-name", "c1").out
    assert out.index("stopping c1-agent-0") < out.index("stopping master")
    assert not any(process and processes.is_alive(process) for process in left)
    again = det("d", "local", "cluster-down", "--cluster-name", "c1")
    assert (again.status, again.out) == (0, "cluster 'c1' is not running\n")


def test_down_gives_commands_the_master_that_they_used_before(
    det: Det, cluster: layout.ClusterLayout, port: int
) -> None:
    det("context", "create", "lab", "lab:9000")
    up(det, port)
    assert "(context local-c1)" in det("context", "show").out
    det("d", "local", "cluster-down", "--cluster-name", "c1")
    assert det("context", "show").out == "http://lab:9000 (context lab)\n"
    assert "local-c1" not in det("context", "list").out


def test_up_names_the_variable_that_leads_commands_elsewhere(
    det: Det, cluster: layout.ClusterLayout, port: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("DET_MASTER", "lab:9000")
    assert "unset DET_MASTER: it is lab:9000, and commands use it" in up(det, port)


def test_a_cluster_is_up_where_contexts_are_damaged(
    det: Det, cluster: layout.ClusterLayout, port: int
) -> None:
    file = master_contexts.ContextStore().path
    file.parent.mkdir(parents=True, exist_ok=True)
    file.write_text("{")
    assert f"cluster 'c1' is up at http://127.0.0.1:{port}" in up(det, port)
    assert file.read_text() == "{"


def test_two_clusters_run_side_by_side(det: Det, clusters: Clusters, port: int) -> None:
    up(det, port)
    up(det, free_port(), name="c2")
    det("deploy", "local", "cluster-down", "--cluster-name", "c1")
    assert running(clusters("c1")) == set()
    assert running(clusters("c2")) == {"master", "c2-agent-0"}


def test_more_agents_join_a_running_master_on_any_address(
    det: Det, cluster: layout.ClusterLayout, port: int
) -> None:
    up(det, port)
    before = cluster.master_config.read_text()
    outcome = det("d", "local", "cluster-up", "--cluster-name", "c1", "--no-gpu", "--agents", "2")
    assert f"cluster 'c1' is up at http://127.0.0.1:{port}" in outcome.out, outcome.err
    assert running(cluster) == {"master", "c1-agent-0", "c1-agent-1"}
    assert cluster.address.read_text() == f"http://127.0.0.1:{port}"
    assert cluster.master_config.read_text() == before


def test_help_shows_the_default_of_agents(det: Det, home: Path) -> None:
    said = " ".join(det("d", "local", "cluster-up", "-h").out.split())
    assert "number of agents to start (default: that of the last start, at first 1)" in said


def test_a_killed_supervisor_does_not_keep_a_cluster_from_stopping(
    det: Det, cluster: layout.ClusterLayout, port: int
) -> None:
    up(det, port)
    supervisor = supervisor_client.find_supervisor(cluster)
    left = [status.process for status in specs.list_status(cluster.status).values()]
    assert supervisor is not None
    os.kill(supervisor.pid, signal.SIGKILL)
    assert processes.wait_gone([supervisor], 60) == []
    det("deploy", "local", "cluster-down", "--cluster-name", "c1")
    assert not any(process and processes.is_alive(process) for process in left)


def test_up_after_a_killed_supervisor_keeps_the_master(
    det: Det, cluster: layout.ClusterLayout, port: int
) -> None:
    up(det, port)
    supervisor = supervisor_client.find_supervisor(cluster)
    master = specs.list_status(cluster.status)
    assert supervisor is not None
    os.kill(supervisor.pid, signal.SIGKILL)
    assert processes.wait_gone([supervisor], 60) == []
    up(det, port)
    assert specs.list_status(cluster.status)["master"].pid == master["master"].pid
    assert supervisor_client.find_supervisor(cluster) is not None


def test_a_leftover_pid_is_stopped_only_if_it_is_a_database(cluster: layout.ClusterLayout) -> None:
    data = cluster.database / "data"
    data.mkdir(parents=True)
    code = (
        "import signal, time; signal.signal(signal.SIGINT, signal.SIG_DFL); "
        "print('up', flush=True); time.sleep(3600)"
    )
    for words, is_ours in ((["x"], False), (["postgres"], True)):
        command = [sys.executable, "-S", "-c", code, *words]
        with subprocess.Popen(command, stdout=subprocess.PIPE) as server:
            try:
                assert server.stdout is not None
                assert server.stdout.readline() == b"up\n"  # its command line is set now
                (data / "postmaster.pid").write_text(f"{server.pid}\n{data}\n")
                assert stop.stop_database(cluster) is is_ours
                assert (server.poll() is not None) is is_ours
            finally:
                server.kill()
    assert stop.stop_database(cluster) is False


def test_down_stops_tasks_that_outlived_their_agents(
    det: Det, cluster: layout.ClusterLayout, port: int
) -> None:
    up(det, port)
    folder = cluster.agents / "c1-agent-0" / "container"
    folder.mkdir(parents=True)
    code = (
        "import subprocess, sys, time; subprocess.Popen([sys.executable, '-S', '-c', "
        "'import time; time.sleep(3600)'], start_new_session=True); "
        "print('up', flush=True); time.sleep(3600)"
    )
    command = [sys.executable, "-S", "-c", code, "shim.py", str(folder)]
    with subprocess.Popen(command, stdout=subprocess.PIPE, start_new_session=True) as parent:
        assert parent.stdout is not None
        assert parent.stdout.readline() == b"up\n"
        shim = processes.identify(parent.pid)
        assert shim is not None
        (child,) = processes.descendants([shim])
        out = det("deploy", "local", "cluster-down", "--cluster-name", "c1").out
        assert parent.wait(60) != 0
    assert "stopped 1 task\n" in out
    assert not processes.is_alive(child)


def test_deleting_the_database_keeps_checkpoints_and_deletes_logins(
    det: Det, cluster: layout.ClusterLayout, port: int
) -> None:
    up(det, port, "--agents", "0")
    (cluster.checkpoints / "kept").write_text("x")
    det("deploy", "local", "cluster-down", "--cluster-name", "c1", "--delete-db")
    assert not cluster.database.exists()
    assert (cluster.checkpoints / "kept").exists()
    for host in ("127.0.0.1", "localhost"):
        assert authentication.TokenStore(f"http://{host}:{port}").users() == []
    assert "is up" in up(det, port, "--agents", "0")


def test_a_new_database_has_the_password_that_the_start_names(
    det: Det, cluster: layout.ClusterLayout, port: int
) -> None:
    first = up(det, port, "--agents", "0")
    assert "password  of users admin and determined" in first
    det("deploy", "local", "cluster-down", "--cluster-name", "c1")
    again = ("--agents", "0", "--delete-db", "--initial-user-password", "Chosen-by-me-1")
    assert "password  of users admin and determined" not in up(det, port, *again)


@covers("agent-config 6.deploy_local")
def test_master_and_agents_start_and_stop_separately(
    det: Det, cluster: layout.ClusterLayout, port: int
) -> None:
    local = ("deploy", "local")
    name = ("--cluster-name", "c1")
    assert det(*local, "master-up", *name, "--master-port", str(port)).status == 0
    words = ("--master-port", str(port), "--agent-name", "extra", "--no-gpu")
    assert det(*local, "agent-up", "127.0.0.1", *name, *words).status == 0
    until(lambda: "joined" in cluster.log("extra").read_text())
    assert running(cluster) == {"master", "extra"}
    assert det(*local, "master-down", *name).out == "master stopped\n"
    assert running(cluster) == {"extra"}
    outcome = det(*local, "agent-down", *name, "--agent-name", "nosuch")
    assert outcome.status == 1
    assert "(it has: extra)" in outcome.err
    assert det(*local, "agent-down", *name, "--all").out == "agent 'extra' stopped\n"
    assert running(cluster) == set()


def test_an_agent_starts_without_a_master_and_det_says_so(
    det: Det, cluster: layout.ClusterLayout, port: int
) -> None:
    words = ("--cluster-name", "c1", "--master-port", str(port), "--no-gpu")
    outcome = det("d", "local", "agent-up", "127.0.0.1", *words)
    assert outcome.status == 0
    assert f"no master answers at 127.0.0.1:{port} yet" in outcome.out


def test_logs_show_master_and_agents(det: Det, cluster: layout.ClusterLayout, port: int) -> None:
    up(det, port)
    until(lambda: "joined" in cluster.log("c1-agent-0").read_text())
    out = det("deploy", "local", "logs", "--cluster-name", "c1", "--no-follow").out
    assert "[master] master listens\n" in out
    assert "[c1-agent-0] agent joined\n" in out


def test_following_logs_ends_when_the_reader_is_gone(
    det: Det, cluster: layout.ClusterLayout, port: int
) -> None:
    up(det, port)
    following = subprocess.Popen(
        [sys.executable, "-m", "determined.cli", "d", "local", "logs", "--cluster-name", "c1"],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )
    assert following.stdout is not None
    assert following.stdout.readline().startswith("[master] ")
    following.stdout.close()
    assert following.wait(60) == 1
    assert following.stderr is not None
    assert following.stderr.read() == ""
    following.stderr.close()


def test_stopping_an_unknown_cluster_is_no_error(det: Det, clusters: Clusters) -> None:
    outcome = det("deploy", "local", "cluster-down", "--cluster-name", "never")
    assert outcome.status == 0
    assert "there is no cluster 'never'" in outcome.out
