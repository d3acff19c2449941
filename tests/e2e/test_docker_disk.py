"""A disk of Docker's that fills under running tasks: one dies of it, with the reason."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest
from tests.debian_tree import CannotRun
from tests.docker_daemon import Daemon, daemon, import_image, missing
from tests.e2e.cluster import Cluster, until
from tests.e2e.docker_cluster import config, docker_cluster

ROOM_BYTES = 64 * 1024**2
"""What the disk holds beside the image."""

pytestmark = [
    pytest.mark.e2e,
    pytest.mark.slow,
    pytest.mark.docker,
    pytest.mark.xdist_group("docker"),
]

FILLS = """
try:
    with open("/var/tmp/big", "wb", buffering=0) as file:
        while True:
            file.write(bytes(1 << 20))
except OSError as error:
    raise SystemExit(3) from error
"""
GOES_ON = """
import itertools, pathlib, time
from determined import core
place = pathlib.Path("/place")
with core.init() as context:
    for step in itertools.count(1):
        print("step", step, flush=True)
        (place / "step").write_text(str(step))
        if (place / "go").exists():
            break
        time.sleep(0.01)
    context.train.report_validation_metrics(step, {"loss": 1.0})
    print("the last of", step, "steps", flush=True)
"""


@pytest.fixture(scope="module")
def small(request: pytest.FixtureRequest) -> Iterator[Daemon]:
    """A daemon whose data has room for the test image and little more."""
    reason = missing()
    if reason is not None:
        pytest.skip(f"no Docker here: {reason}")
    debian_tree: Path = request.getfixturevalue("debian_tree")
    image = sum(p.lstat().st_size for p in debian_tree.rglob("*") if p.is_file())
    try:
        with daemon(data_bytes=image * 5 // 4 + ROOM_BYTES) as made:
            import_image(made, debian_tree)
            yield made
    except CannotRun as error:
        pytest.skip(f"no Docker here: {error}")


@pytest.fixture(scope="module")
def cluster(small: Daemon) -> Iterator[Cluster]:
    """One agent of two slots."""
    with docker_cluster(small, agents=1, slots=2) as made:
        yield made


def test_a_task_that_fills_the_disk_fails_with_the_reason_and_others_continue(
    cluster: Cluster,
) -> None:
    place = cluster.root / "place"
    place.mkdir(mode=0o777)
    mount = {"host_path": str(place), "container_path": "/place"}
    other = cluster.submit(config("python3 t.py", bind_mounts=[mount]), {"t.py": GOES_ON})
    until((place / "step").exists, what="the first step of the other task")
    filling = cluster.submit(config("python3 t.py"), {"t.py": FILLS})
    assert cluster.wait(filling) == "ERROR"
    [trial] = cluster.trials(filling)
    text = cluster.text(trial["id"])
    assert "non-zero exit code: 3 (the disk of Docker's data root" in text
    assert "is full: remove images or data" in text
    assert cluster.connected() == ["agent-0"]

    (place / "go").touch()
    assert cluster.wait(other) == "COMPLETED"
    [trial] = cluster.trials(other)
    assert trial["restarts"] == 0
    lines = cluster.text(trial["id"]).splitlines()
    assert any(line.startswith("the last of") for line in lines)
