"""From `helm install` to a ready master on a real cluster, and the outage of an upgrade.

The images are on the node already, as after their first pull. The master is installed with its
database, by `det deploy kubernetes up`, which waits until both are ready.
"""

from __future__ import annotations

import tempfile
import threading
import time
import urllib.request
from itertools import pairwise
from pathlib import Path

from tests.deploy.bed import images
from tests.deploy.bed.installation import MASTER, Installation, installation
from tests.deploy.bed.services import Kubectl
from tests.deploy.helm.conftest import DOCKER, IMAGE, KUBECONFIG

from bench.figure import CannotMeasure, Figure, Limit, Load, Measured

ASK_EVERY_S = 0.05
ASK_LIMIT_S = 1.0


def measure(load: Load) -> Measured:
    """Install one release, then upgrade it to another version while its health is asked for."""
    if not (KUBECONFIG and DOCKER and IMAGE):
        raise CannotMeasure("no cluster: tests/kubernetes.sh says how to name one")
    with tempfile.TemporaryDirectory(prefix="det-images-", dir="/tmp") as directory:
        try:
            images.build_all(DOCKER, IMAGE, Path(directory))
            with installation(Kubectl(KUBECONFIG)) as release:
                since = time.monotonic()
                release.up()
                up_s = time.monotonic() - since
                since = time.monotonic()
                outage_s = _outage_of_upgrade(release)
                facts = {"upgrade_s": round(time.monotonic() - since, 1)}
        finally:
            images.remove_all(DOCKER)
    return Measured([up_s], {"upgrade_outage_s": round(outage_s, 1), **facts})


def _outage_of_upgrade(release: Installation) -> float:
    """The longest time between two answers of the master during an upgrade."""
    answers, is_over = [time.monotonic()], threading.Event()

    def ask() -> None:
        while not is_over.wait(ASK_EVERY_S):
            try:
                with urllib.request.urlopen(f"http://{MASTER}:8080/health", timeout=ASK_LIMIT_S):
                    answers.append(time.monotonic())
            except OSError:
                continue

    asking = threading.Thread(target=ask)
    asking.start()
    try:
        release.up("--set", f"detVersion={images.NEXT_TAG}")
    finally:
        is_over.set()
        asking.join()
    return max(later - sooner for sooner, later in pairwise(answers))


FIGURE = Figure(
    name="chart_up",
    limits=[Limit("up", "s", 20.0, "at_most")],
    measure=None,
    measure_alone=measure,
    needs="nothing",
    full=Load(runs=1, count=1),
    smoke=Load(runs=1, count=1),
    in_smoke=False,
)
