"""The files of `det deploy local`: settings of master and agents, secrets, modes."""

from __future__ import annotations

import json
import re
import stat
from pathlib import Path

import pytest
from tests.cli.conftest import Det
from tests.cli.deploy.conftest import running, up

from determined.common import config_text
from determined_deploy.local import layout

pytestmark = pytest.mark.slow


def test_only_its_owner_can_read_the_files_of_a_cluster(
    det: Det, cluster: layout.ClusterLayout, port: int
) -> None:
    up(det, port)
    for path in cluster.root.rglob("*"):
        mode = stat.S_IMODE(path.stat().st_mode)
        if path == cluster.checkpoints:
            assert mode == 0o711
        elif not {"initial-password", "postgres", "agents"} & set(path.parts):  # of the stand-ins
            assert mode & 0o077 == 0, f"{path} has mode {mode:o}"


@pytest.mark.parametrize("text", ["db:", "db: x", "security:", "security: x", "security: {tls: }"])
def test_the_master_validates_sections_of_a_wrong_type(
    det: Det, cluster: layout.ClusterLayout, port: int, tmp_path: Path, text: str
) -> None:
    config = tmp_path / "own.yaml"
    config.write_text(text + "\n")
    words = ("--cluster-name", "c1", "--master-port", str(port), "--no-gpu")
    det("d", "local", "cluster-up", *words, "--master-config-path", str(config))
    written = config_text.load(cluster.master_config.read_text(), "master.yaml")
    # Null counts as unset.
    assert written["db"] == ("x" if text == "db: x" else {"data_dir": str(cluster.database)})
    security = written.get("security")
    if isinstance(security, dict):  # root's cluster also names an account for tasks
        assert security.pop("agent_join_token_file") == str(cluster.join_token)
        security = {k: v for k, v in security.items() if k != "default_task"} or None
    assert security == ("x" if text == "security: x" else None)


def test_options_win_over_the_users_config_file(
    det: Det, cluster: layout.ClusterLayout, port: int, tmp_path: Path
) -> None:
    config = tmp_path / "own.yaml"
    config.write_text("port: 1\nlog:\n  level: debug\ndb:\n  x: y\n")
    up(det, port, "--agents", "0", "--master-config-path", str(config))
    text = cluster.master_config.read_text()
    assert f"port: {port}\n" in text
    assert "  level: debug" in text
    assert f"  data_dir: {cluster.database}" in text
    assert stat.S_IMODE(cluster.master_config.stat().st_mode) == 0o600


def test_the_user_chooses_the_checkpoint_directory(
    det: Det, cluster: layout.ClusterLayout, port: int, tmp_path: Path
) -> None:
    storage = tmp_path / "elsewhere"
    up(det, port, "--agents", "0", "--storage-host-path", str(storage))
    assert f"host_path: {storage}" in cluster.master_config.read_text()
    assert storage.is_dir()


def test_a_given_initial_password_is_used_and_not_stored(
    det: Det, cluster: layout.ClusterLayout, port: int
) -> None:
    up(det, port, "--agents", "0", "--initial-user-password", "Given12345")
    (seen,) = cluster.root.rglob("password")
    assert seen.read_text() == "Given12345"
    kept = [path.read_text() for path in (*cluster.specs.iterdir(), cluster.master_config)]
    assert not any("Given12345" in text for text in kept)


def test_the_initial_password_of_the_users_file_logs_the_caller_in(
    det: Det, cluster: layout.ClusterLayout, port: int, tmp_path: Path
) -> None:
    config = tmp_path / "own.yaml"
    config.write_text("security: {initial_user_password: Given12345}\n")
    out = up(det, port, "--agents", "0", "--master-config-path", str(config))
    assert "logged in as determined" in out
    (seen,) = cluster.root.rglob("password")
    assert seen.read_text() == "Given12345"


def test_a_second_start_needs_no_password(
    det: Det, cluster: layout.ClusterLayout, port: int
) -> None:
    up(det, port)
    det("deploy", "local", "cluster-down", "--cluster-name", "c1")
    cluster.initial_passwords[0].write_text("not this one any more\n")
    assert "logged in as determined" in up(det, port)


@pytest.mark.parametrize("listen", ["127.0.0.1", "0.0.0.0"])
def test_agents_share_a_token_with_their_master_that_others_cannot_read(
    det: Det, cluster: layout.ClusterLayout, port: int, listen: str
) -> None:
    cluster.join_token.write_text("of an earlier start")
    up(det, port, "--listen", listen)
    assert re.fullmatch(r"[0-9a-f]{64}\n", cluster.join_token.read_text())
    assert stat.S_IMODE(cluster.join_token.stat().st_mode) == 0o600
    agent = json.loads(cluster.agent_config("c1-agent-0").read_text())
    assert agent["join_token_file"] == str(cluster.join_token)
    assert agent["master_host"] == "127.0.0.1"
    master = cluster.master_config.read_text()
    assert f"agent_join_token_file: {cluster.join_token}" in master
    assert ("allow_process_runtime: true" in master) is (listen == "0.0.0.0")


def test_each_start_makes_a_new_token_and_a_running_master_keeps_its_own(
    det: Det, cluster: layout.ClusterLayout, port: int
) -> None:
    up(det, port)
    first = cluster.join_token.read_text()
    up(det, port, "--agents", "2")
    assert cluster.join_token.read_text() == first
    det("deploy", "local", "cluster-down", "--cluster-name", "c1")
    up(det, port)
    assert cluster.join_token.read_text() != first


def test_the_token_of_the_users_own_file_is_that_of_the_agents(
    det: Det, cluster: layout.ClusterLayout, port: int, tmp_path: Path
) -> None:
    config = tmp_path / "own.yaml"
    config.write_text("security: {agent_join_token_file: /etc/determined/join}\n")
    up(det, port, "--master-config-path", str(config))
    agent = json.loads(cluster.agent_config("c1-agent-0").read_text())
    assert agent["join_token_file"] == "/etc/determined/join"


def down(det: Det) -> None:
    outcome = det("deploy", "local", "cluster-down", "--cluster-name", "c1")
    assert outcome.status == 0, outcome.err


def test_a_cluster_keeps_its_settings_and_its_port(
    det: Det, cluster: layout.ClusterLayout, port: int, tmp_path: Path
) -> None:
    config = tmp_path / "own.yaml"
    config.write_text("security: {authz: {type: rbac}}\nlog: {level: debug}\n")
    up(det, port, "--master-config-path", str(config))
    before = cluster.master_config.read_text()
    down(det)
    outcome = det("deploy", "local", "cluster-up", "--cluster-name", "c1", "--no-gpu")
    assert f"is up at http://127.0.0.1:{port}" in outcome.out, outcome.err
    assert cluster.master_config.read_text() == before


def test_a_cluster_keeps_its_agents(det: Det, cluster: layout.ClusterLayout, port: int) -> None:
    up(det, port, "--agents", "2")
    down(det)
    again = ("deploy", "local", "cluster-up", "--cluster-name", "c1")
    for options, count in (((), 2), (("--agents", "1"), 1), ((), 1)):
        outcome = det(*again, *options)
        assert outcome.status == 0, outcome.err
        names = {f"c1-agent-{number}" for number in range(count)}
        assert running(cluster) == {"master", *names}
        kinds = {json.loads(cluster.agent_config(name).read_text())["slot_type"] for name in names}
        assert kinds == {"cpu"}  # as the first start had it
        down(det)


def test_settings_of_a_start_that_failed_are_not_kept(
    det: Det, cluster: layout.ClusterLayout, port: int, tmp_path: Path
) -> None:
    config = tmp_path / "own.yaml"
    config.write_text("misbehave: 7\n")
    words = ("--cluster-name", "c1", "--master-port", str(port), "--no-gpu")
    assert det("d", "local", "cluster-up", *words, "--master-config-path", str(config)).status
    up(det, port)


@pytest.mark.parametrize(("answer", "status"), [("n\n", 1), ("y\n", 0)])
def test_another_security_is_shown_and_asked_for(
    det: Det, cluster: layout.ClusterLayout, port: int, tmp_path: Path, answer: str, status: int
) -> None:
    config = tmp_path / "own.yaml"
    config.write_text("security: {agent_join: token}\n")
    up(det, port, "--master-config-path", str(config))
    (cluster.database / "data").mkdir(parents=True, exist_ok=True)
    down(det)
    config.write_text("security: {agent_join: open}\n")
    words = ("--cluster-name", "c1", "--no-gpu", "--master-config-path", str(config))
    outcome = det("d", "local", "cluster-up", *words, stdin=answer)
    assert outcome.status == status, outcome.err
    assert 'security.agent_join: "token" becomes "open"' in outcome.out
    if status == 0:  # a file that names no port does not move the cluster
        assert f"is up at http://127.0.0.1:{port}" in outcome.out
    assert ("agent_join: open" in cluster.master_config.read_text()) is (status == 0)
    if status == 0:
        down(det)
        config.write_text("security: {agent_join: token}\n")
        assert det("d", "local", "cluster-up", *words, "--yes").status == 0
