"""The demo: a local cluster, a hyperparameter search on real data, and its best trial.

`make demo` runs this in the virtual environment that it makes. The cluster stays up afterwards.
"""

from __future__ import annotations

import contextlib
import os
import shutil
import socket
import subprocess
import sys
import time
import urllib.request
from pathlib import Path

from rich.console import Console
from rich.progress import BarColumn, Progress, TextColumn, TimeElapsedColumn

from determined.experimental import client
from determined_deploy.local import layout, running_master, task_account

HERE = Path(__file__).parent
CLUSTER = os.environ.get("DEMO_CLUSTER", "demo")
SLOTS = 2
DEADLINE_S = 900
ENDED = ("COMPLETED", "CANCELED", "ERROR")

console = Console(highlight=False)


def account_options() -> tuple[str, ...]:
    """Let the demo's own tasks run as root where other accounts cannot run this Python."""
    if os.geteuid() == 0 and task_account.others_cannot_run():
        return ("--task-account", "root")
    return ()


def main() -> int:
    """Run all of it; 0 when the search has found what it should."""
    port = port_of_the_cluster()
    console.print(f"[bold]1. A cluster on this machine[/] ({SLOTS} slots, no Docker)")
    det("deploy", "local", "cluster-up", "--cluster-name", CLUSTER, "--master-port", str(port),
        "--agents", str(SLOTS), "--no-gpu", *account_options())  # fmt: skip
    address = f"http://127.0.0.1:{port}"
    os.environ["DET_MASTER"] = address
    client.login(master=address)

    console.print("\n[bold]2. A search of 16 trials[/] on handwritten digits (adaptive_asha)")
    files = ("train.py", "adaptive_asha.yaml")
    experiment = client.create_experiment(
        str(HERE / "adaptive_asha.yaml"), includes=[HERE / name for name in files]
    )
    state = follow(experiment)
    console.print(f"experiment {experiment.id} ended: {state}")
    good = tell_best(experiment)
    console.print(f"\n[bold]The cluster runs on[/] at {address}")
    page = f"{address}/det/experiments/{experiment.id}/overview"
    command = command_here()
    for label, words in (
        ("look", f"{command} experiment list"),
        ("why", f"{command} trial story {best_of(experiment)}"),
        ("stop it", f"{command} deploy local cluster-down --cluster-name {CLUSTER}"),
    ):
        console.print(f"  {label:<9} {words}", soft_wrap=True)
    if has_page(page):
        files = layout.cluster_layout(CLUSTER).initial_passwords
        password = next((path for path in files if path.exists()), files[0])
        console.print(
            f"  sign in   as determined, with the password in {password}", soft_wrap=True
        )
        console.print(f"\n[bold]The search in the web UI:[/] {page}", soft_wrap=True)
    else:
        console.print("\nThe web UI is missing: run make webui, then stop and start the cluster")
    return 0 if good and state == "COMPLETED" else 1


def det(*arguments: str) -> None:
    """Run the command line, showing what it says; the demo ends where it fails."""
    command = [sys.executable, "-m", "determined.cli.main", *arguments]
    status = subprocess.run(command, check=False).returncode
    if status:
        sys.exit(status)


def has_page(page: str) -> bool:
    """Whether the master has a web UI: without one it answers with an error that says so."""
    direct = urllib.request.build_opener(urllib.request.ProxyHandler({}))
    try:
        with direct.open(page, timeout=10) as answer:
            return answer.status == 200
    except OSError:
        return False


def command_here() -> str:
    """How to type `det` in the directory that the demo was started from."""
    installed = Path(sys.executable).with_name("det")
    if shutil.which("det") == str(installed):
        return "det"
    with contextlib.suppress(ValueError):
        return str(installed.relative_to(Path.cwd()))
    return str(installed)


def port_of_the_cluster() -> int:
    """The port that was asked for, that of the cluster if it still runs, or a free one."""
    if os.environ.get("DEMO_PORT"):
        return int(os.environ["DEMO_PORT"])
    cluster = layout.cluster_layout(CLUSTER)
    if running_master.is_up(cluster):
        return int(cluster.address.read_text().rpartition(":")[2])
    return free_port(8080)


def free_port(wanted: int) -> int:
    """The wanted port, or the next one that nobody listens on."""
    for port in range(wanted, wanted + 100):
        with socket.socket() as probe:
            if probe.connect_ex(("127.0.0.1", port)) != 0:
                return port
    return wanted


def follow(experiment: client.Experiment) -> str:
    """Show how far the search is until it ends; its last state."""
    columns = (
        TextColumn("{task.description}"),
        BarColumn(),
        TextColumn("{task.completed:.0f}/{task.total:.0f} trials"),
        TextColumn("best accuracy {task.fields[best]}"),
        TimeElapsedColumn(),
    )
    deadline = time.monotonic() + DEADLINE_S
    with Progress(*columns, console=console) as progress:
        bar = progress.add_task("searching", total=16, best="-")
        while True:
            trials = trials_of(experiment)
            states = [trial["state"].removeprefix("STATE_") for trial in trials]
            closed = sum(state in ENDED for state in states)
            scores = [score for trial in trials if (score := accuracy(trial)) is not None]
            best = f"{max(scores):.4f}" if scores else "-"
            running = f"{states.count('RUNNING')} running"
            progress.update(bar, completed=closed, best=best, description=running)
            experiment.reload()
            state = experiment.state.value.removeprefix("STATE_") if experiment.state else ""
            if state in ENDED:
                return state
            if time.monotonic() > deadline:
                raise SystemExit(f"the search did not end within {DEADLINE_S} s")
            time.sleep(0.3)


def tell_best(experiment: client.Experiment) -> bool:
    """Print the best trial and whether the search did its work."""
    trials = trials_of(experiment)
    scored = [(a, t) for t in trials if (a := accuracy(t)) is not None]
    if not scored:
        console.print(
            f"no trial was validated: see {command_here()} experiment logs {experiment.id}",
            soft_wrap=True,
        )
        return False
    best_accuracy, best = max(scored, key=lambda pair: pair[0])
    worst_accuracy = min(scored, key=lambda pair: pair[0])[0]
    last = max(t["totalBatchesProcessed"] for t in trials)
    stopped = [t for t in trials if t["totalBatchesProcessed"] < last]
    saved = [t for t in stopped if t["checkpointCount"] > 0]
    checkpoint = (best["bestCheckpoint"] or {}).get("uuid", "none")
    console.print("\n[bold]3. The best trial[/]")
    console.print(f"  trial                {best['id']}")
    for name, value in best["hparams"].items():
        console.print(f"  {name:<20} {value}")
    console.print(
        f"  validation accuracy  {best_accuracy:.4f} (worst trial: {worst_accuracy:.4f})"
    )
    console.print(
        f"  checkpoint           {checkpoint_path(experiment, checkpoint)}", soft_wrap=True
    )
    console.print(
        f"  stopped early        {len(stopped)} of {len(trials)} trials, "
        f"{len(saved)} of them with a checkpoint"
    )
    return (
        best_accuracy >= 0.95
        and best_accuracy >= worst_accuracy + 0.02
        and len(stopped) >= 4
        and len(saved) == len(stopped)
    )


def best_of(experiment: client.Experiment) -> int:
    """Id of the best trial; of one that was not validated where none was."""
    trials = trials_of(experiment)
    return int(max(trials, key=lambda trial: accuracy(trial) or 0.0)["id"])


def trials_of(experiment: client.Experiment) -> list[dict]:
    """The trials as the API shows them."""
    path = f"/api/v1/experiments/{experiment.id}/trials"
    return experiment._session.get(path, params={"limit": -1}).json()["trials"]


def accuracy(trial: dict) -> float | None:
    """The best validation accuracy of a trial so far."""
    best = trial["bestValidation"]
    return None if best is None else float(best["metrics"]["avgMetrics"]["validation_accuracy"])


def checkpoint_path(experiment: client.Experiment, uuid: str) -> str:
    """Where the checkpoint lies on this machine."""
    storage = (experiment.config or {}).get("checkpoint_storage", {})
    return str(Path(storage.get("host_path", "")) / (storage.get("storage_path") or "") / uuid)


if __name__ == "__main__":
    try:
        sys.exit(main())
    except KeyboardInterrupt:
        stop = f"{command_here()} deploy local cluster-down --cluster-name {CLUSTER}"
        console.print(f"\ninterrupted; a cluster that is up runs on, stop it with: {stop}")
        sys.exit(130)
