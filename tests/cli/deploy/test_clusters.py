"""`det deploy local` from the outside: up, up again, down, also after accidents."""

from __future__ import annotations

import json
import os
import signal
import socket
import stat
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest
from tests.cli.conftest import Det
from tests.cli.deploy.conftest import until
from tests.covers import covers
from tests.free_ports import free_port

from determined.cli.deploy import control, extras, layout, processes, specs, take_down
from determined.common import config_text
from determined.common.api import authentication

Clusters = Callable[[str], layout.Layout]
pytestmark = pytest.mark.slow


def up(det: Det, port: int, *more: str, name: str = "c1") -> str:
    words = ("--cluster-name", name, "--master-port", str(port), "--no-gpu", *more)
    outcome = det("deploy", "local", "cluster-up", *words)
    assert outcome.status == 0, outcome.err
    return outcome.out


def running(cluster: layout.Layout) -> set[str]:
    known = specs.list_status(cluster.status)
    return {name for name, status in known.items() if status.process is not None}


def test_up_starts_master_and_agents_and_logs_in(
    det: Det, cluster: layout.Layout, port: int
) -> None:
    out = up(det, port, "--agents", "2")
    address = f"http://127.0.0.1:{port}"
    assert f"cluster 'c1' is up at {address}" in out
    assert "2 with 2 slots" in out
    assert "det deploy local cluster-down --cluster-name c1" in out
    assert "det deploy local logs --cluster-name c1" in out
    assert f"export DET_MASTER={address}" in out
    assert running(cluster) == {"master", "c1-agent-0", "c1-agent-1"}
    for name in (address, f"http://localhost:{port}"):  # the second is what det uses by default
        store = authentication.TokenStore(name)
        assert (store.active_user, store.token_of("determined")) == ("determined", "token")


def test_what_a_cluster_writes_is_its_owners_alone(
    det: Det, cluster: layout.Layout, port: int
) -> None:
    up(det, port)
    for path in cluster.root.rglob("*"):
        mode = stat.S_IMODE(path.stat().st_mode)
        if path == cluster.checkpoints:
            assert mode == 0o711
        elif not {"initial-password", "postgres", "agents"} & set(path.parts):  # of the stand-ins
            assert mode & 0o077 == 0, f"{path} has mode {mode:o}"


def test_up_again_says_so_and_changes_nothing(det: Det, cluster: layout.Layout, port: int) -> None:
    up(det, port)
    before = specs.list_status(cluster.status)
    assert f"cluster 'c1' is already up at http://127.0.0.1:{port}" in up(det, port)
    assert specs.list_status(cluster.status) == before


def test_down_leaves_nothing_and_down_again_says_so(
    det: Det, cluster: layout.Layout, port: int
) -> None:
    up(det, port)
    left = [status.process for status in specs.list_status(cluster.status).values()]
    left.append(control.find_supervisor(cluster))
    out = det("d", "local", "cluster-down", "--cluster-name", "c1").out
    assert out.index("stopping c1-agent-0") < out.index("stopping master")
    assert not any(process and processes.is_alive(process) for process in left)
    again = det("d", "local", "cluster-down", "--cluster-name", "c1")
    assert (again.status, again.out) == (0, "cluster 'c1' is not running\n")


def test_two_clusters_run_side_by_side(det: Det, clusters: Clusters, port: int) -> None:
    up(det, port)
    up(det, free_port(), name="c2")
    det("deploy", "local", "cluster-down", "--cluster-name", "c1")
    assert running(clusters("c1")) == set()
    assert running(clusters("c2")) == {"master", "c2-agent-0"}


def test_a_busy_port_is_refused_before_anything_starts(det: Det, cluster: layout.Layout) -> None:
    with socket.create_server(("127.0.0.1", 0)) as held:
        port = held.getsockname()[1]
        words = ("--cluster-name", "c1", "--master-port", str(port))
        outcome = det("deploy", "local", "cluster-up", *words)
    assert outcome.status == 1
    assert f"port {port} is in use by pid {os.getpid()}" in outcome.err
    assert "--master-port" in outcome.err
    assert running(cluster) == set()


@pytest.mark.parametrize("value", ["99999", "0", "-1"])
def test_a_number_that_is_no_port_is_refused(det: Det, cluster: layout.Layout, value: str) -> None:
    words = ("--cluster-name", "c1", "--master-port", value)
    outcome = det("deploy", "local", "cluster-up", *words)
    assert outcome.status == 1
    assert f"port {value}: it must be a number from 1 to 65535" in outcome.err


def test_a_config_file_that_cannot_be_read_is_told_with_its_name(
    det: Det, cluster: layout.Layout, tmp_path: Path
) -> None:
    config = tmp_path / "own.yaml"
    words = ("--cluster-name", "c1", "--master-config-path", str(config))
    for content, problem in (
        (b"port: abc\n", "port 'abc': it must be a number"),
        (b"\xff\xfe", f"config file '{config}': byte 1 is not UTF-8 text"),
        (b"- a\n", "this is a list"),
    ):
        config.write_bytes(content)
        outcome = det("deploy", "local", "cluster-up", *words)
        assert outcome.status == 1
        assert problem in outcome.err


def test_another_port_for_a_running_cluster_is_refused(
    det: Det, cluster: layout.Layout, port: int
) -> None:
    up(det, port)
    words = ("--cluster-name", "c1", "--master-port", str(port + 1))
    outcome = det("deploy", "local", "cluster-up", *words)
    assert outcome.status == 1
    assert "already up at" in outcome.err


def test_more_agents_join_the_master_that_runs_wherever_it_listens(
    det: Det, cluster: layout.Layout, port: int
) -> None:
    up(det, port)
    before = cluster.master_config.read_text()
    outcome = det("d", "local", "cluster-up", "--cluster-name", "c1", "--no-gpu", "--agents", "2")
    assert f"cluster 'c1' is up at http://127.0.0.1:{port}" in outcome.out, outcome.err
    assert running(cluster) == {"master", "c1-agent-0", "c1-agent-1"}
    assert cluster.address.read_text() == f"http://127.0.0.1:{port}"
    assert cluster.master_config.read_text() == before


def test_options_that_a_running_master_cannot_take_are_named(
    det: Det, cluster: layout.Layout, port: int, tmp_path: Path
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
        "the master of cluster 'c1' runs already, and --master-config-path, "
        "--initial-user-password, --delete-db changed nothing; stop it first with 'det deploy "
        "local cluster-down --cluster-name c1'\n"
    )
    assert "already up" in outcome.out


def test_a_first_password_for_a_database_that_is_there_changes_nothing_and_says_so(
    det: Det, cluster: layout.Layout, port: int
) -> None:
    up(det, port)
    det("d", "local", "cluster-down", "--cluster-name", "c1")
    (cluster.database / "data").mkdir(parents=True, exist_ok=True)
    words = ("--cluster-name", "c1", "--master-port", str(port), "--no-gpu")
    outcome = det("d", "local", "cluster-up", *words, "--initial-user-password", "Secret-1234")
    assert "--initial-user-password is for a new database" in outcome.err


def test_help_tells_a_default_of_one(det: Det, home: Path) -> None:
    assert "number of agents to start (default: 1)" in det("d", "local", "cluster-up", "-h").out


def test_a_blank_first_password_is_refused(det: Det, cluster: layout.Layout) -> None:
    words = ("--cluster-name", "c1", "--initial-user-password", "")
    outcome = det("d", "local", "cluster-up", *words)
    assert outcome.status == 1
    assert "--initial-user-password is blank" in outcome.err
    assert running(cluster) == set()


@pytest.mark.parametrize("text", ["db:", "db: x", "security:", "security: x", "security: {tls: }"])
def test_sections_that_are_none_are_left_to_the_master_to_judge(
    det: Det, cluster: layout.Layout, port: int, tmp_path: Path, text: str
) -> None:
    config = tmp_path / "own.yaml"
    config.write_text(text + "\n")
    words = ("--cluster-name", "c1", "--master-port", str(port), "--no-gpu")
    det("d", "local", "cluster-up", *words, "--master-config-path", str(config))
    written = config_text.load(cluster.master_config.read_text(), "master.yaml")
    # Null is the same as leaving it out.
    assert written["db"] == ("x" if text == "db: x" else {"data_dir": str(cluster.database)})
    assert written.get("security") in ("x" if text == "security: x" else None, {"tls": None})


def test_a_directory_for_checkpoints_that_cannot_be_made_is_named(
    det: Det, cluster: layout.Layout, port: int, tmp_path: Path
) -> None:
    file = tmp_path / "file"
    file.touch()
    words = ("--cluster-name", "c1", "--master-port", str(port))
    outcome = det("d", "local", "cluster-up", *words, "--storage-host-path", str(file))
    assert outcome.status == 1
    assert f"directory for checkpoints {file} cannot be made: it is a file" in outcome.err
    assert "--storage-host-path" in outcome.err


def test_a_place_where_no_cluster_can_be_kept_is_named(
    det: Det, home: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "file").touch()
    monkeypatch.setenv("DET_DEPLOY_DIR", str(tmp_path / "file"))
    monkeypatch.setattr(extras, "check", lambda roles: None)
    outcome = det("d", "local", "cluster-up")
    assert outcome.status == 1
    assert f"the cluster's directory {tmp_path}/file/determined cannot be made" in outcome.err
    assert "set DET_DEPLOY_DIR" in outcome.err


def test_a_name_that_is_no_address_is_told_with_the_option(
    det: Det, cluster: layout.Layout
) -> None:
    words = ("--cluster-name", "c1", "--listen", "192.0.2.1")  # of no machine
    outcome = det("d", "local", "cluster-up", *words)
    assert outcome.status == 1
    assert "cannot listen on 192.0.2.1 port 8080" in outcome.err
    assert "give --listen an address of this machine" in outcome.err


def test_what_an_earlier_start_has_said_is_no_reason_of_this_one(
    det: Det, cluster: layout.Layout, port: int, tmp_path: Path
) -> None:
    config = tmp_path / "own.yaml"
    words = ("--cluster-name", "c1", "--master-port", str(port))
    for number in (7, 8):
        config.write_text(f"misbehave: {number}\n")
        outcome = det("d", "local", "cluster-up", *words, "--master-config-path", str(config))
        assert f"asked to end with {number}" in outcome.err
    assert "asked to end with 7" not in outcome.err


def test_a_master_that_cannot_start_is_told_with_the_end_of_its_log(
    det: Det, cluster: layout.Layout, port: int, tmp_path: Path
) -> None:
    config = tmp_path / "own.yaml"
    config.write_text("misbehave: 7\n")
    words = ("--cluster-name", "c1", "--master-port", str(port))
    outcome = det("deploy", "local", "cluster-up", *words, "--master-config-path", str(config))
    assert outcome.status == 1
    assert "master ended with exit code 1" in outcome.err
    assert "asked to end with 7" in outcome.err
    assert running(cluster) == set()
    until(lambda: control.find_supervisor(cluster) is None)


def test_https_is_left_to_those_who_run_the_servers_themselves(
    det: Det, cluster: layout.Layout, tmp_path: Path
) -> None:
    config = tmp_path / "own.yaml"
    config.write_text("security: {tls: {cert: c, key: k}}\n")
    words = ("--cluster-name", "c1", "--master-config-path", str(config))
    outcome = det("deploy", "local", "cluster-up", *words)
    assert outcome.status == 1
    assert "for HTTPS run determined-master and determined-agent themselves" in outcome.err


def test_the_users_config_is_merged_below_the_flags(
    det: Det, cluster: layout.Layout, port: int, tmp_path: Path
) -> None:
    config = tmp_path / "own.yaml"
    config.write_text("port: 1\nlog:\n  level: debug\ndb:\n  x: y\n")
    up(det, port, "--agents", "0", "--master-config-path", str(config))
    text = cluster.master_config.read_text()
    assert f"port: {port}\n" in text
    assert "  level: debug" in text
    assert f"  data_dir: {cluster.database}" in text
    assert stat.S_IMODE(cluster.master_config.stat().st_mode) == 0o600


def test_checkpoints_go_where_the_user_says(
    det: Det, cluster: layout.Layout, port: int, tmp_path: Path
) -> None:
    storage = tmp_path / "elsewhere"
    up(det, port, "--agents", "0", "--storage-host-path", str(storage))
    assert f"host_path: {storage}" in cluster.master_config.read_text()
    assert storage.is_dir()


def test_a_given_first_password_is_used_and_not_kept(
    det: Det, cluster: layout.Layout, port: int
) -> None:
    up(det, port, "--agents", "0", "--initial-user-password", "Given12345")
    assert cluster.initial_passwords[0].read_text() == "Given12345\n"
    kept = [path.read_text() for path in (*cluster.specs.iterdir(), cluster.master_config)]
    assert not any("Given12345" in text for text in kept)


def test_a_killed_supervisor_does_not_keep_a_cluster_from_stopping(
    det: Det, cluster: layout.Layout, port: int
) -> None:
    up(det, port)
    supervisor = control.find_supervisor(cluster)
    left = [status.process for status in specs.list_status(cluster.status).values()]
    assert supervisor is not None
    os.kill(supervisor.pid, signal.SIGKILL)
    processes.wait_gone([supervisor], 10)
    det("deploy", "local", "cluster-down", "--cluster-name", "c1")
    assert not any(process and processes.is_alive(process) for process in left)


def test_up_after_a_killed_supervisor_keeps_the_master(
    det: Det, cluster: layout.Layout, port: int
) -> None:
    up(det, port)
    supervisor, master = control.find_supervisor(cluster), specs.list_status(cluster.status)
    assert supervisor is not None
    os.kill(supervisor.pid, signal.SIGKILL)
    processes.wait_gone([supervisor], 10)
    up(det, port)
    assert specs.list_status(cluster.status)["master"].pid == master["master"].pid
    assert control.find_supervisor(cluster) is not None


def test_a_left_database_is_stopped_only_if_it_is_one(cluster: layout.Layout) -> None:
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
                assert server.stdout.readline() == b"up\n"  # until then it may show no words
                (data / "postmaster.pid").write_text(f"{server.pid}\n{data}\n")
                assert take_down.stop_database(cluster) is is_ours
                assert (server.poll() is not None) is is_ours
            finally:
                server.kill()
    assert take_down.stop_database(cluster) is False


def test_tasks_left_by_agents_end_with_the_cluster(
    det: Det, cluster: layout.Layout, port: int
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


def test_deleting_the_database_keeps_checkpoints_and_forgets_logins(
    det: Det, cluster: layout.Layout, port: int
) -> None:
    up(det, port, "--agents", "0")
    (cluster.checkpoints / "kept").write_text("x")
    det("deploy", "local", "cluster-down", "--cluster-name", "c1", "--delete-db")
    assert not cluster.database.exists()
    assert (cluster.checkpoints / "kept").exists()
    for host in ("127.0.0.1", "localhost"):
        assert authentication.TokenStore(f"http://{host}:{port}").users() == []
    assert "is up" in up(det, port, "--agents", "0")


def test_a_second_start_needs_no_password(det: Det, cluster: layout.Layout, port: int) -> None:
    up(det, port)
    det("deploy", "local", "cluster-down", "--cluster-name", "c1")
    cluster.initial_passwords[0].write_text("not this one any more\n")
    assert "logged in as determined" in up(det, port)


@covers("agent-config 6.deploy_local")
def test_master_and_agents_come_and_go_on_their_own(
    det: Det, cluster: layout.Layout, port: int
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
    assert "(there: extra)" in outcome.err
    assert det(*local, "agent-down", *name, "--all").out == "agent 'extra' stopped\n"
    assert running(cluster) == set()


def test_an_agent_without_a_master_is_started_and_told_that_none_answers(
    det: Det, cluster: layout.Layout, port: int
) -> None:
    words = ("--cluster-name", "c1", "--master-port", str(port), "--no-gpu")
    outcome = det("d", "local", "agent-up", "127.0.0.1", *words)
    assert outcome.status == 0
    assert f"no master answers at 127.0.0.1:{port} yet" in outcome.out


def test_agents_of_a_cluster_that_never_was_cannot_be_stopped(
    det: Det, clusters: Clusters
) -> None:
    outcome = det("d", "local", "agent-down", "--cluster-name", "never")
    assert outcome.status == 1
    assert "there is no cluster 'never' on this machine" in outcome.err


def test_logs_show_master_and_agents(det: Det, cluster: layout.Layout, port: int) -> None:
    up(det, port)
    until(lambda: "joined" in cluster.log("c1-agent-0").read_text())
    out = det("deploy", "local", "logs", "--cluster-name", "c1", "--no-follow").out
    assert "[master] master listens\n" in out
    assert "[c1-agent-0] agent joined\n" in out


def test_following_logs_ends_when_nobody_reads_them_any_more(
    det: Det, cluster: layout.Layout, port: int
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


def test_beyond_loopback_agents_are_given_the_join_token(
    det: Det, cluster: layout.Layout, port: int
) -> None:
    up(det, port, "--listen", "0.0.0.0")
    assert cluster.join_token.read_text() == "join"
    assert stat.S_IMODE(cluster.join_token.stat().st_mode) == 0o600
    agent = json.loads(cluster.agent_config("c1-agent-0").read_text())
    assert agent["join_token_file"] == str(cluster.join_token)
    assert agent["master_host"] == "127.0.0.1"
    assert "allow_process_runtime: true" in cluster.master_config.read_text()


def test_names_that_are_no_file_names_are_refused(det: Det, clusters: Clusters) -> None:
    for name in ("../x", "", "a/b"):
        outcome = det("deploy", "local", "cluster-up", "--cluster-name", name)
        assert outcome.status == 1
        assert "is not valid" in outcome.err


def test_a_cluster_that_never_was_is_no_error_to_stop(det: Det, clusters: Clusters) -> None:
    outcome = det("deploy", "local", "cluster-down", "--cluster-name", "never")
    assert outcome.status == 0
    assert "there is no cluster 'never'" in outcome.out


def test_missing_servers_are_told_with_the_command_that_installs_them(
    det: Det, home: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(extras._NEEDS, "agent", ("nosuch_module.main",))
    outcome = det("deploy", "local", "agent-up", "localhost")
    assert outcome.status == 1
    assert "pip install 'determined[master,agent]'" in outcome.err
