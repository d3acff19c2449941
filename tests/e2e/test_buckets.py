"""Checkpoints in S3 on a real cluster: stored by two ranks, fetched, thinned out, deleted."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from tests.e2e.cluster import PASSWORD, Cluster, until
from tests.e2e.conftest import running
from tests.e2e.test_afterlife import checkpoints, is_gone, state_of
from tests.e2e.test_life import config
from tests.object_server import ObjectServer, object_server

from determined.common.experimental.checkpoint import Checkpoint, DownloadMode

pytestmark = [pytest.mark.e2e, pytest.mark.slow]

TRAIN = """
import pathlib
import determined as det
from determined import core

distributed = core.DistributedContext.from_torch_distributed()
rank = distributed.rank
with core.init(distributed=distributed) as context:
    for step in (1, 2):
        folder = pathlib.Path(f"part-{rank}-{step}")
        (folder / "deep").mkdir(parents=True)
        (folder / "deep" / f"weights-{rank}").write_bytes(bytes([rank]) * 100_000)
        (folder / "scratch").write_text("not wanted")
        if rank == 0:
            context.train.report_validation_metrics(step, {"loss": 1.0 / step})
        uuid = context.checkpoint.upload(
            folder,
            {"steps_completed": step},
            shard=True,
            selector=lambda path: not path.endswith("scratch"),
        )
        with context.checkpoint.restore_path(uuid) as path:
            names = sorted(p.name for p in path.rglob("*") if p.is_file())
        assert names == ["metadata.json", "weights-0", "weights-1"], names
    with context.checkpoint.store_path({"steps_completed": 3}, shard=True) as (path, uuid):
        (path / f"rank-{rank}").write_text(str(rank))
    context.checkpoint.download(uuid, "back")
    assert pathlib.Path("back", "rank-1").read_text() == "1"
"""


@pytest.fixture(scope="module")
def objects() -> Iterator[ObjectServer]:
    with object_server() as running:
        yield running


@pytest.fixture(scope="module")
def cluster(objects: ObjectServer, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Cluster]:
    """Its admin lets the master read the server of the tests, which is at a loopback address."""
    storage = {
        "type": "shared_fs",
        "host_path": str(tmp_path_factory.mktemp("storage")),
        "allowed_endpoints": [objects.url],
    }
    with running(settings=json.dumps({"checkpoint_storage": storage})) as made:
        yield made


def storage_of(objects: ObjectServer) -> dict[str, Any]:
    return {
        "type": "s3",
        "bucket": objects.new_bucket(),
        "prefix": "runs",
        "access_key": "key",
        "secret_key": "hush-hush",
        "endpoint_url": objects.url,
        "save_trial_latest": 2,
        "save_trial_best": 0,
    }


def det(cluster: Cluster, *words: str, **env: str) -> subprocess.CompletedProcess[str]:
    account = {"DET_USER": "admin", "DET_PASS": PASSWORD, "DET_MASTER": cluster.address}
    home = str(cluster.root / "home")
    source = str(Path(__file__).parents[2] / "src")
    inherited = {"PATH": os.environ["PATH"], "HOME": home, "PYTHONPATH": source}
    return subprocess.run(
        [sys.executable, "-m", "determined.cli", *words],
        capture_output=True,
        text=True,
        env={**inherited, **account, **env},
        timeout=120,
    )


def test_a_life_of_checkpoints_in_a_bucket(
    cluster: Cluster, objects: ObjectServer, tmp_path: Path
) -> None:
    storage = storage_of(objects)
    bucket = storage["bucket"]
    submitted = config(
        entrypoint="python3 -m determined.launch.simple python3 t.py",
        resources={"slots_per_trial": 2},
        checkpoint_storage=storage,
    )
    experiment = cluster.submit(submitted, {"t.py": TRAIN})
    assert cluster.wait(experiment) == "COMPLETED"
    until(lambda: state_of(checkpoints(cluster, experiment)[1]) == "DELETED", what="a collection")
    found = checkpoints(cluster, experiment)
    first, second, third = (found[step]["uuid"] for step in (1, 2, 3))
    assert found[2]["resources"] == {
        "deep/": "0",
        "deep/weights-0": "100000",
        "deep/weights-1": "100000",
    }

    def keys_below() -> list[str]:
        return [key.removeprefix("runs/") for key in objects.keys(bucket)]

    def is_forgotten() -> bool:
        return not [key for key in keys_below() if key.startswith(first)]

    until(is_forgotten, what="the removal of the manifest, which follows the report")
    keys = keys_below()
    assert sorted(key for key in keys if key.startswith(third)) == [
        f"{third}.manifest.json",
        f"{third}/metadata.json",
        f"{third}/rank-0",
        f"{third}/rank-1",
    ]
    assert [key for key in keys if f"tensorboard/experiment/{experiment}/trial/" in key]
    seen = cluster.session("determined").get(f"/api/v1/experiments/{experiment}").json()
    assert "hush-hush" not in json.dumps(seen)

    weights = b"\1" * 100_000
    through_master = Checkpoint(cluster.session(), second)
    path = through_master.download(str(tmp_path / "master"), DownloadMode.MASTER)
    assert Path(path, "deep", "weights-1").read_bytes() == weights
    keyed = {"AWS_ACCESS_KEY_ID": "key", "AWS_SECRET_ACCESS_KEY": "hush-hush"}
    done = det(
        cluster,
        *("checkpoint", "download", second, "--mode", "direct", "-o", str(tmp_path / "direct")),
        **keyed,
    )
    assert done.returncode == 0, done.stderr
    assert (tmp_path / "direct" / "deep" / "weights-1").read_bytes() == weights

    objects.put(bucket, f"runs/{second}/deep/weights-0", bytes(100_000 - 1) + b"x")
    for mode in ("master", "direct"):
        words = (
            "checkpoint",
            "download",
            second,
            "--mode",
            mode,
            "-o",
            str(tmp_path / mode / "x"),
        )
        done = det(cluster, *words, **keyed)
        assert done.returncode == 1
        assert f"checkpoint {second} is damaged: its file deep/weights-0" in done.stderr
        assert det(cluster, *words, "--no-verify", **keyed).returncode == 0

    removed = det(cluster, "checkpoint", "rm", second, "--glob", "**/weights-0", "--yes")
    assert removed.returncode == 0, removed.stderr

    def is_part() -> bool:
        return state_of(checkpoints(cluster, experiment)[2]) == "PARTIALLY_DELETED"

    until(is_part, what="a removal")
    left = checkpoints(cluster, experiment)[2]["resources"]
    assert left == {
        "deep/": "0",
        "deep/weights-1": "100000",
        "metadata.json": left["metadata.json"],
    }
    again = through_master.download(str(tmp_path / "part"), DownloadMode.MASTER)
    assert not Path(again, "deep", "weights-0").exists()

    cluster.session().delete(f"/api/v1/experiments/{experiment}")
    until(lambda: is_gone(cluster, experiment), what="the deletion")
    assert objects.keys(bucket) == []


def test_a_storage_that_is_gone_is_named_and_the_deletion_can_be_repeated(
    cluster: Cluster, objects: ObjectServer
) -> None:
    storage = {**storage_of(objects), "bucket": "nobodymadeit"}
    submitted = config(checkpoint_storage=storage, max_restarts=0)
    experiment = cluster.submit(submitted, {"t.py": "raise SystemExit('never reached')"})
    assert cluster.wait(experiment) == "ERROR"
    log = cluster.text(cluster.trials(experiment)[0]["id"])
    assert "checkpoint storage of type s3 cannot be used" in log
    assert "Check that the bucket exists" in log
    assert "never reached" not in log
    assert checkpoints(cluster, experiment) == {}
    cluster.session().delete(f"/api/v1/experiments/{experiment}")

    def has_failed() -> bool:
        return cluster.state(experiment) == "DELETE_FAILED"

    until(has_failed, what="a failed deletion")
    objects.request("PUT", "nobodymadeit")
    cluster.session().delete(f"/api/v1/experiments/{experiment}")
    until(lambda: is_gone(cluster, experiment), what="the deletion")
