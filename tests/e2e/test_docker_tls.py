"""A master that speaks TLS, and tasks in containers that reach it."""

from __future__ import annotations

import tempfile
from collections.abc import Iterator
from pathlib import Path

import pytest
from tests.certificates import Authority
from tests.docker_daemon import Daemon
from tests.e2e.cluster import Cluster, until
from tests.e2e.docker_cluster import config, docker_cluster, gang
from tests.e2e.test_tls import https_files

pytestmark = [
    pytest.mark.e2e,
    pytest.mark.slow,
    pytest.mark.docker,
    pytest.mark.xdist_group("docker"),
]

SHOWS = """
import os, pathlib
import determined as det
from determined import core
trust = pathlib.Path(os.environ["DET_MASTER_CERT_FILE"])
print("calls", os.environ["DET_MASTER"].partition(":")[0], "and trusts", trust, flush=True)
print("knows", trust.read_text().count("BEGIN CERTIFICATE"), "certificates", flush=True)
with core.init() as context:
    context.train.report_training_metrics(1, {"loss": 2.0})
    context.train.report_validation_metrics(1, {"loss": 1.0})
    with context.checkpoint.store_path({"steps_completed": 1}) as (path, uuid):
        (path / "weights").write_text("x")
    print("is asked to leave:", context.preempt.should_preempt(), flush=True)
"""
RANKS = """
import determined as det
from determined import core
distributed = core.DistributedContext.from_torch_distributed()
with core.init(distributed=distributed) as context:
    print("gathered", context.distributed.allgather(context.distributed.rank), flush=True)
    if context.distributed.rank == 0:
        context.train.report_validation_metrics(1, {"loss": 0.5})
"""
DISTRUSTS = """
import os
from determined.common.api import BaseSession, RetryPolicy
from determined.common.api.certs import Cert
trust = Cert.from_file("other.crt")
BaseSession(os.environ["DET_MASTER"], trust, RetryPolicy(total=0)).get("/info")
print("it was trusted all the same", flush=True)
"""


@pytest.fixture(scope="module")
def cluster(docker: Daemon) -> Iterator[Cluster]:
    with (
        tempfile.TemporaryDirectory(prefix="det-tls-", dir="/tmp") as directory,
        docker_cluster(docker, https=https_files(Path(directory))) as made,
    ):
        yield made


def test_a_task_in_a_container_reports_and_saves_over_tls(cluster: Cluster) -> None:
    experiment = cluster.submit(config("python3 t.py"), {"t.py": SHOWS})
    assert cluster.wait(experiment) == "COMPLETED"
    [trial] = cluster.trials(experiment)
    lines = cluster.text(trial["id"]).splitlines()
    assert "calls https and trusts /run/determined/etc/ssl/master.crt" in lines
    assert "knows 3 certificates" in lines  # the master's two, and what its agent trusts
    assert "is asked to leave: False" in lines
    assert trial["latestValidation"]["metrics"]["avgMetrics"]["loss"] == 1.0
    path = f"/api/v1/trials/{trial['id']}/checkpoints"
    saved = until(lambda: cluster.get(path)["checkpoints"], what="its checkpoint")
    assert [c["state"] for c in saved] == ["STATE_COMPLETED"]


def test_ranks_in_two_containers_meet_over_a_tls_master(cluster: Cluster) -> None:
    experiment = cluster.submit(*gang(RANKS))
    assert cluster.wait(experiment) == "COMPLETED"
    [trial] = cluster.trials(experiment)
    assert "gathered [0, 1]" in cluster.text(trial["id"])


def test_a_task_with_other_certificates_gets_the_missing_one_named(
    cluster: Cluster, tmp_path: Path
) -> None:
    files = {"t.py": DISTRUSTS, "other.crt": Authority(tmp_path, "other").pem.decode()}
    experiment = cluster.submit(config("python3 t.py"), files)
    state = cluster.wait(experiment)
    [trial] = cluster.trials(experiment)
    text = cluster.text(trial["id"])
    assert state == "ERROR", text
    assert "this machine does not trust the issuer of its certificate" in text
    assert "it was trusted all the same" not in text
