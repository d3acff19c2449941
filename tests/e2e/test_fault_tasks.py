"""Tasks that misbehave: they end, with a reason; their agent and its machine continue."""

from __future__ import annotations

import os
from collections.abc import Iterator

import psutil
import pytest
from tests.covers import covers
from tests.e2e.cluster import Cluster, until
from tests.e2e.conftest import running
from tests.e2e.faults import Held, memory_of, processes_of_tasks
from tests.e2e.test_life import config

from determined_agent.runtimes.process.cgroups import GroupLimits, make_cgroups, remove_cgroup

pytestmark = [pytest.mark.e2e, pytest.mark.slow]

FLOOD_MB = int(os.environ.get("DETERMINED_TEST_FLOOD_MB", "64"))
"""1024 is what is claimed; the suite has time for a part of it."""
GROWTH_MB = 250
ROOM, MAX_PROCESSES = (100, 111) if os.getuid() == 0 else (250, 500)
"""Processes that a task has room for, and that a bounded bomb stays below; unbounded it has 512.
Without a cgroup those of all tests of this user count, which come and go meanwhile."""

STUBBORN = '''
"""Trains, and leaves for no signal that can be ignored."""
import signal, time
from determined import core

for number in (signal.SIGTERM, signal.SIGINT, signal.SIGHUP):
    signal.signal(number, signal.SIG_IGN)
with core.init() as context:
    context.train.report_validation_metrics(1, {"loss": 1.0})
    print("is not leaving", flush=True)
    while True:
        time.sleep(0.1)
'''

BOMB = '''
"""Forks without end; nine generations, should nobody bound it. It lives until it was counted."""
import os, pathlib, time

place = pathlib.Path(os.environ["PLACE"])
for generation in range(9):
    try:
        os.fork()
    except OSError as error:
        print("the bomb met:", error, flush=True)
        (place / "met").touch()
        break
while not (place / "counted").exists():
    time.sleep(0.05)
'''

LONG_LINE = """
import os
os.write(1, b"before\\n")
left = memoryview(b"x" * 10_000_000 + b"\\n" + b"after\\n")
while left:
    left = left[os.write(1, left):]
"""

FLOOD = """
import os, sys
out = sys.stdout
for number in range(int(os.environ["LINES"])):
    out.write(f"{number:08d} {'y' * 2000}\\n")
"""


@pytest.fixture
def spooling(bounded: Cluster) -> Iterator[Cluster]:
    """The same without a bound of processes, which may count those of other tests, too."""
    options = bounded.agent_options
    at = options.index("--container-pids-limit")
    bounded.agent_options = (*options[:at], *options[at + 2 :])
    try:
        restart_agent(bounded)
        yield bounded
    finally:
        bounded.agent_options = options
        restart_agent(bounded)


def restart_agent(cluster: Cluster) -> None:
    cluster.kill("agent-0")
    until(lambda: not cluster.connected(), what="that the master notices")
    cluster.start_agent()
    until(cluster.connected, what="the agent")


@pytest.fixture(scope="module")
def bounded() -> Iterator[Cluster]:
    """One agent of two slots, whose tasks may have few processes and little unread output."""
    limit = ROOM
    if os.getuid() == 0:
        group = make_cgroups("try", GroupLimits(pids=limit))
        remove_cgroup("try")
        if not group:
            pytest.skip("no cgroup can be made here, and nothing else bounds root's processes")
    else:  # the bound counts all processes of the user
        mine = [p for p in psutil.process_iter(["uids"]) if p.info["uids"].real == os.getuid()]
        limit += sum(p.num_threads() for p in mine)

    def prepare(cluster: Cluster) -> None:
        cluster.agent_options += ("--container-pids-limit", str(limit))
        cluster.agent_options += ("--log-spool-bytes", str(4 * 2**20))

    with running(prepare=prepare) as made:
        yield made


def test_a_task_that_ignores_every_signal_is_killed_after_its_time(
    cluster: Cluster,
) -> None:
    experiment = cluster.submit(config(preemption_timeout=1), {"t.py": STUBBORN})
    until(lambda: any(t["totalBatchesProcessed"] for t in cluster.trials(experiment)))
    cluster.post(f"/api/v1/experiments/{experiment}/pause")
    until(lambda: not cluster.tasks(), what="the end of its process")
    assert cluster.state(experiment) == "PAUSED"
    cluster.post(f"/api/v1/experiments/{experiment}/kill")
    assert cluster.wait(experiment) == "CANCELED"
    [trial] = cluster.trials(experiment)
    text = cluster.text(trial["id"])
    assert "did not leave within 1 s of this request: user requested pause" in text
    assert trial["restarts"] == 0


def test_a_fork_bomb_meets_its_bound_and_dies_with_its_task(bounded: Cluster) -> None:
    most = 0
    place = bounded.root / "bomb"
    place.mkdir()
    place.chmod(0o777)

    def has_grown() -> bool:
        nonlocal most
        is_bounded = (place / "met").exists()
        most = max(most, len(processes_of_tasks(bounded)))
        return is_bounded and most > 40

    given = config(environment={"environment_variables": [f"PLACE={place}"]})
    experiment = bounded.submit(given, {"t.py": BOMB})
    until(has_grown, what="that the bomb meets its bound")
    (place / "counted").touch()
    assert bounded.wait(experiment) == "COMPLETED"
    assert most < MAX_PROCESSES, "the bomb was bounded"
    [trial] = bounded.trials(experiment)
    assert "the bomb met:" in bounded.text(trial["id"])
    until(lambda: not processes_of_tasks(bounded), what="the end of all of its processes")
    assert bounded.connected() == ["agent-0"]
    after = bounded.submit(config("true"), {})
    assert bounded.wait(after) == "COMPLETED"


def test_a_fork_bomb_that_is_killed_leaves_nothing(bounded: Cluster) -> None:
    """Each child that dies is replaced at once: whoever kills one by one never ends."""
    hydra = (
        "import os, time\n"
        "for _ in range(6): os.fork()\n"
        "end = time.monotonic() + 60\n"
        "while time.monotonic() < end:\n"
        "    try:\n"
        "        if os.fork() == 0: continue\n"
        "        os.wait()\n"
        "    except OSError: time.sleep(0.001)\n"
    )
    experiment = bounded.submit(config("python3 t.py"), {"t.py": hydra})
    until(lambda: len(processes_of_tasks(bounded)) > 30, what="a grown hydra")
    bounded.post(f"/api/v1/experiments/{experiment}/kill")
    assert bounded.wait(experiment) == "CANCELED"
    until(lambda: not processes_of_tasks(bounded), what="the end of all of its processes")


def test_a_line_of_ten_megabytes_is_cut_with_a_mark_and_whole(cluster: Cluster) -> None:
    experiment = cluster.submit(config(), {"t.py": LONG_LINE})
    assert cluster.wait(experiment) == "COMPLETED"
    [trial] = cluster.trials(experiment)
    lines = [line["log"].rstrip("\n") for line in cluster.lines(trial["id"])]
    mark = " [cut at 64 KiB: the line continues]"
    pieces = [line for line in lines if line.startswith("x")]
    assert sum(len(piece.removesuffix(mark)) for piece in pieces) == 10_000_000
    assert all(piece.endswith(mark) for piece in pieces[:-1])
    assert lines.index("before") < lines.index(pieces[0]) < lines.index("after")


def test_a_flood_of_output_is_kept_whole_in_bounded_memory(cluster: Cluster) -> None:
    """The disk holds what the master has not stored yet: neither process holds it in memory."""
    count = FLOOD_MB * 500
    names = ("master", "agent-0")
    before = {n: psutil.Process(cluster.processes[n].pid).memory_info().rss / 2**20 for n in names}
    given = config(environment={"environment_variables": [f"LINES={count}"]})
    with memory_of(cluster, *names) as memory:
        experiment = cluster.submit(given, {"t.py": FLOOD})
        assert cluster.wait(experiment, 60 + FLOOD_MB) == "COMPLETED"
    [trial] = cluster.trials(experiment)
    seen = 0
    for line in cluster.lines(trial["id"]):
        if line["log"][9:12] == "yyy":
            assert int(line["log"][:8]) == seen, "each once, in order"
            seen += 1
    assert seen == count
    for name in names:
        assert memory[name] - before[name] < GROWTH_MB, f"{name}: {memory[name]:.0f} MiB"


def test_more_output_than_the_spool_holds_is_dropped_and_counted(spooling: Cluster) -> None:
    """The task does not wait for its agent, and the machine's disk does not fill."""
    count = 10_000
    place = spooling.root / "spool"
    place.mkdir()
    place.chmod(0o777)
    given = config(
        "touch $PLACE/began; while ! test -e $PLACE/go; do sleep 0.05; done; "
        "python3 t.py; touch $PLACE/ended",
        environment={"environment_variables": [f"LINES={count}", f"PLACE={place}"]},
    )
    experiment = spooling.submit(given, {"t.py": FLOOD})
    until((place / "began").exists, what="its start")
    spooling.kill("agent-0")
    (place / "go").touch()
    until((place / "ended").exists, what="its end without an agent")
    spooling.start_agent()
    assert spooling.wait(experiment) == "COMPLETED"
    [trial] = spooling.trials(experiment)
    lines = [line["log"] for line in spooling.lines(trial["id"])]
    kept = sum(line[9:12] == "yyy" for line in lines)
    notes = [int(line.split()[0]) for line in lines if "lines of output were dropped" in line]
    assert 500 < kept < 4000
    # A line that meets the bound in its middle is there in part, and counts as dropped too.
    assert 0 <= kept + sum(notes) - count <= len(notes)


@covers("scheduling-and-provisioning d.4.ended_away")
@pytest.mark.parametrize(("code", "state"), [(0, "COMPLETED"), (3, "ERROR")])
def test_a_task_that_ends_while_its_agent_is_down_has_ended_as_it_did(
    cluster: Cluster, code: int, state: str
) -> None:
    held = Held(cluster, f"agent down {code}")
    held.began()
    cluster.kill("agent-0")
    held.go(code)
    until(lambda: not held.processes(), what="the end of its processes")
    cluster.start_agent()
    assert cluster.wait(held.id) == state
    assert held.runs() == [1]
    text = held.text()
    assert "the last line of run 1" in text
    assert ("exit code 3" in text) == (code == 3)
