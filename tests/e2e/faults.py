"""What the tests of faults share: scripts that show what happened to them, and looks at them."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import psutil
from tests.e2e.cluster import Cluster, until
from tests.e2e.test_life import config
from tests.standstill import standing_still

HOLDS = '''
"""Holds its slots as nobody else may, until it is told to end.

Each slot of each agent is a file that is locked: whoever finds it locked was given what another
still has. A line a run and a line an end go to the ledger.
"""
import fcntl, json, os, pathlib, sys, time

place = pathlib.Path(os.environ["PLACE"])
run = os.environ["DET_TRIAL_RUN_ID"]
agent = os.environ["DET_AGENT_ID"]

def note(text):
    with (place / "ledger").open("a") as file:
        file.write(f"{text}\\n")

held = []
for slot in json.loads(os.environ["DET_SLOT_IDS"]):
    # A twin of an agent is another machine, and so are its slots.
    machine = pathlib.Path(os.environ["DET_RUN_DIR"]).parents[2].name
    file = (place / f"slot-{machine}-{agent}-{slot}").open("w")
    try:
        fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except OSError:
        note(f"doubled {agent} {slot}")
        sys.exit(9)
    held.append(file)
note(f"began {run} {agent}")
print("run", run, "holds its slots", flush=True)
while not (place / "go").exists():
    time.sleep(0.05)
note(f"ended {run} {agent}")
print("the last line of run", run, flush=True)
sys.exit(int((place / "go").read_text() or 0))
'''


class Held:
    """An experiment whose only trial runs `HOLDS`, and the directory in which it shows itself."""

    def __init__(self, cluster: Cluster, name: str, **more: Any) -> None:
        self.cluster = cluster
        self.place = cluster.root / name
        self.place.mkdir()
        self.place.chmod(0o777)
        given = config(
            environment={"environment_variables": [f"PLACE={self.place}"]}, name=name, **more
        )
        self.id = cluster.submit(given, {"t.py": HOLDS})
        until(lambda: cluster.trials(self.id), what="its trial")

    @property
    def ledger(self) -> list[str]:
        """What its runs have noted."""
        path = self.place / "ledger"
        return path.read_text().splitlines() if path.exists() else []

    def began(self, run: int = 1) -> str:
        """Wait until a run has its slots; the agent it is on."""
        mark = f"began {run} "

        def found() -> str | None:
            return next((line for line in self.ledger if line.startswith(mark)), None)

        line: str = until(found, what=f"the start of run {run} of {self.place.name}")
        return line.split()[2]

    def go(self, code: int = 0) -> None:
        """Let it end with an exit code."""
        waiting = self.place / "waiting"
        waiting.write_text(str(code))
        waiting.chmod(0o644)
        waiting.rename(self.place / "go")

    def end(self) -> str:
        """Let it end; the state of its experiment."""
        self.go()
        state = self.cluster.wait(self.id)
        assert not any("doubled" in line for line in self.ledger), self.ledger
        return state

    @property
    def trial(self) -> dict[str, Any]:
        """Its trial."""
        [found] = self.cluster.trials(self.id)
        return found

    def runs(self) -> list[int]:
        """Numbers of its allocations, ascending."""
        task = self.cluster.get(f"/api/v1/tasks/{self.trial['taskId']}")["task"]
        return sorted(int(a["allocationId"].rpartition(".")[2]) for a in task["allocations"])

    def text(self) -> str:
        """Its log so far."""
        path = f"/api/v1/trials/{self.trial['id']}/logs"
        answer = self.cluster.session().get(path, params={"limit": 1000}, stream=True)
        return "\n".join(line.decode() for line in answer.iter_lines())

    def processes(self, directory: str = "agents") -> list[int]:
        """Of its tasks that still run below a directory of agents."""
        return processes_of_tasks(self.cluster, directory, PLACE=str(self.place))


def processes_of_tasks(cluster: Cluster, directory: str = "agents", **variables: str) -> list[int]:
    """Processes of tasks that run below a directory of agents, with these variables."""
    mark = str(cluster.root / directory)
    found = []
    for process in psutil.process_iter(["pid", "environ"]):
        own = process.info["environ"] or {}
        if own.get("DET_RUN_DIR", "").startswith(mark) and variables.items() <= own.items():
            found.append(process.pid)
    return found


@contextmanager
def stopped(cluster: Cluster, name: str) -> Iterator[None]:
    """Let a process stand still."""
    with standing_still(cluster.processes[name].pid):
        yield


def is_away(cluster: Cluster, agent: str) -> bool:
    """Whether the master knows that it has lost an agent."""
    return agent not in cluster.connected()


@contextmanager
def memory_of(cluster: Cluster, *names: str) -> Iterator[dict[str, float]]:
    """The most MiB that processes have used meanwhile, by name."""
    most = dict.fromkeys(names, 0.0)
    watched = {name: psutil.Process(cluster.processes[name].pid) for name in names}
    stop = threading.Event()

    def watch() -> None:
        while not stop.wait(0.1):
            for name, process in watched.items():
                most[name] = max(most[name], process.memory_info().rss / 2**20)

    thread = threading.Thread(target=watch, name="memory")
    thread.start()
    try:
        yield most
    finally:
        stop.set()
        thread.join()
