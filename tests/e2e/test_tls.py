"""A cluster that speaks TLS everywhere: master, agents that show certificates, tasks, commands."""

from __future__ import annotations

import os
import re
import signal
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path

import pytest
from tests.certificates import Authority
from tests.covers import covers
from tests.e2e import scripts
from tests.e2e.cluster import ROOT, Cluster, Https, until
from tests.e2e.conftest import running
from tests.e2e.test_life import config, ledger_config

pytestmark = [pytest.mark.e2e, pytest.mark.slow]


def https_files(directory: Path) -> Https:
    """Files of a master at 127.0.0.1 and of its agents."""
    authority = Authority(directory)
    master, agent = authority.sign("127.0.0.1", "localhost"), authority.sign("agent", "agent-0")
    return Https(authority.cert, *master, *agent)


@pytest.fixture(scope="module")
def cluster() -> Iterator[Cluster]:
    with (
        tempfile.TemporaryDirectory(prefix="det-tls-", dir="/tmp") as directory,
        running(slots=1, https=https_files(Path(directory))) as made,
    ):
        yield made


def det(
    *words: str,
    trust: object = "",
    name: str = "",
    code: int = 0,
    home: Path | None = None,
    stdin: int = subprocess.DEVNULL,
) -> subprocess.CompletedProcess[str]:
    """Run a command that needs no login."""
    kept = {k: v for k, v in os.environ.items() if not k.startswith("DET_")}
    more = {"DET_MASTER_CERT_FILE": str(trust), "DET_MASTER_CERT_NAME": name}
    if home:
        more["XDG_CONFIG_HOME"] = str(home)
    done = subprocess.run(
        [sys.executable, "-m", "determined.cli", *words],
        env={**kept, **more, "PYTHONPATH": str(ROOT / "src")},
        stdin=stdin,
        capture_output=True,
        text=True,
        timeout=120,
        check=False,
    )
    assert done.returncode == code, done.stdout + done.stderr
    return done


@covers("agent-config 2.tls.enabled 2.tls.master_cert 2.tls.client")
def test_a_trial_reports_saves_and_is_cleaned_up_over_tls(cluster: Cluster) -> None:
    experiment = cluster.submit(ledger_config(cluster, "tls"), {"t.py": scripts.LEDGER})
    assert cluster.wait(experiment) == "COMPLETED"
    [trial] = cluster.trials(experiment)
    assert trial["latestValidation"]["metrics"]["avgMetrics"]["loss"] == 0.5 + 1 / 8
    path = f"/api/v1/trials/{trial['id']}/checkpoints"

    def states() -> list[str]:
        found = cluster.get(path)["checkpoints"]
        return [c["state"].removeprefix("STATE_") for c in found]

    until(lambda: sorted(states()) == ["COMPLETED", "DELETED"], what="the collection")


@covers("agent-config 4.url")
def test_the_link_of_agents_is_tls_too(cluster: Cluster) -> None:
    assert "address=https://127.0.0.1" in cluster.log()
    [agent] = cluster.get("/api/v1/agents")["agents"]
    assert agent["id"] == "agent-0"


SHOWS = """
import os
name = os.environ["DET_MASTER_CERT_FILE"]
print("trusts", open(name).read().count("BEGIN CERTIFICATE"), os.environ["DET_USE_TLS"])
print("calls", os.environ["DET_MASTER"].partition(":")[0])
"""


def test_a_task_is_given_what_it_trusts_the_master_by(cluster: Cluster) -> None:
    experiment = cluster.submit(config(), {"t.py": SHOWS})
    assert cluster.wait(experiment) == "COMPLETED"
    [trial] = cluster.trials(experiment)
    log = cluster.text(trial["id"])
    assert "trusts 3 true" in log  # the master's two, and what its agent trusts
    assert "calls https" in log


@covers("agent-config 4.refused")
def test_an_agent_without_a_certificate_is_refused_with_the_remedy(
    cluster: Cluster,
) -> None:
    own = cluster.agent_options
    try:
        cluster.agent_options = tuple(o for o in own if "client" not in o and "agent." not in o)
        twin = cluster.start_twin("agent-1")
    finally:
        cluster.agent_options = own
    try:
        assert twin.wait(60) == 3
    finally:
        if twin.poll() is None:
            twin.send_signal(signal.SIGKILL)
            twin.wait()
    said = cluster.log("twin")
    assert "agent agent-1 at 127.0.0.1 showed no certificate: set its options" in said


def test_an_agent_is_refused_that_takes_the_id_of_anothers_certificate(cluster: Cluster) -> None:
    cluster.kill("master")
    usual = cluster.master_options
    cluster.master_options = (*usual, "--resource-manager-verify-agent-ids", "true")
    try:
        cluster.start_master()
        until(lambda: cluster.connected() == ["agent-0"], what="the agent whose id it names")
        twin = cluster.start_twin("agent-1")
        try:
            assert twin.wait(60) == 3
        finally:
            if twin.poll() is None:
                twin.send_signal(signal.SIGKILL)
                twin.wait()
    finally:
        cluster.master_options = usual
    said = cluster.log("twin")
    assert "agent agent-1 at 127.0.0.1 showed a certificate of agent, agent-0: give" in said


def test_an_agent_that_does_not_trust_the_master_says_so_and_continues_trying(
    cluster: Cluster, tmp_path: Path
) -> None:
    own, other = cluster.agent_options, Authority(tmp_path, "other").cert
    runtime = ("--container-runtime", "process")
    mistakes = {
        ("--security-tls-enabled", "--security-tls-master-cert", str(other)): (
            "the certificate of 127.0.0.1 is not signed by an authority that this machine trusts"
        ),
        (): "gave no answer: if it serves HTTPS, set security.tls.enabled",
    }
    for options, said in mistakes.items():
        try:
            cluster.agent_options = (*runtime, *options)
            twin = cluster.start_twin("agent-1")
        finally:
            cluster.agent_options = own
        try:
            until(lambda said=said: said in cluster.log("twin"), what=said)
            assert twin.poll() is None
        finally:
            twin.send_signal(signal.SIGTERM)
            assert twin.wait(60) == 0


def test_commands_trust_by_file_by_name_or_not_at_all(cluster: Cluster, tmp_path: Path) -> None:
    assert cluster.https is not None
    authority = cluster.https.authority
    info = ("-m", cluster.address, "master", "info")
    for trust in (authority, "noverify"):
        assert "clusterId" in det(*info, trust=trust).stdout
    said = det(*info, code=1).stderr
    assert "this machine does not trust the issuer of its certificate" in said
    assert "set DET_MASTER_CERT_FILE to a file with the certificate" in said
    said = det(*info, trust=Authority(tmp_path, "other").cert, code=1).stderr
    assert "this machine does not trust the issuer of its certificate" in said
    said = det(*info, trust=authority, name="elsewhere.example", code=1).stderr
    assert "its certificate has another name" in said
    plain = cluster.address.replace("https", "http")
    said = det("-m", plain, "master", "info", code=1).stderr
    assert "if it serves HTTPS, use https://" in said
    said = det(*info, trust=tmp_path / "none", code=1).stderr
    assert str(tmp_path / "none") in said


@pytest.mark.parametrize("answer", ["n", "y"])
def test_a_person_may_accept_a_certificate_once_and_for_all(
    cluster: Cluster, tmp_path: Path, answer: str
) -> None:
    info = ("-m", cluster.address, "master", "info")
    terminal, typed = os.openpty()
    try:
        os.write(terminal, f"{answer}\n".encode())
        code = 0 if answer == "y" else 1
        said = det(*info, home=tmp_path, stdin=typed, code=code)
    finally:
        os.close(terminal)
        os.close(typed)
    assert f"the certificate of the master at {cluster.address}." in said.stderr
    assert re.search(r"fingerprint is ([0-9a-f]{2}:){31}[0-9a-f]{2}\n", said.stderr)
    assert ("clusterId" in said.stdout) == (answer == "y")
    again = det(*info, home=tmp_path, code=code)
    assert ("clusterId" in again.stdout) == (answer == "y")


def test_many_requests_share_connections(cluster: Cluster) -> None:
    session = cluster.session()
    session.get("/api/v1/me")
    transport = session._transport
    first = transport._idle[-1]
    for _ in range(3):
        session.get("/api/v1/me")
    assert transport._idle[-1] is first
    assert first.sock.version() in ("TLSv1.2", "TLSv1.3")


def test_a_restarted_master_is_joined_again(cluster: Cluster) -> None:
    cluster.kill("master")
    cluster.start_master()
    until(lambda: cluster.connected() == ["agent-0"], what="the agent's return")
