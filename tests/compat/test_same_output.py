"""What `det` 0.38.1 prints for programs, ours prints too: `--json` and `--csv` of one master."""

from __future__ import annotations

import csv
import io
import json
import os
import sys
from collections.abc import Iterator
from functools import cache
from itertools import zip_longest
from pathlib import Path
from typing import Any

import pytest
from tests.compat.client import COMMAND_LIMIT_S, MODEL, Client
from tests.compat.conftest import Finished, created
from tests.e2e.cluster import Cluster, until
from tests.warm import Warm

pytestmark = [pytest.mark.compat, pytest.mark.slow, pytest.mark.xdist_group("compat")]

SPACE, PROJECT = 'ünder 100% "q"', "a/b? #1 %41"
JSON = (
    "agent list",
    "master info",
    "command list",
    "dev bindings call get_GetMe",
    "experiment describe {experiment}",
    "experiment describe {experiment},{waiting}",
    "experiment logs {experiment} --tail 1",
    "job list",
    "job list -p default",
    "master cluster-message get",
    "master config show",
    "model describe compat-same",
    "model list",
    "model list-versions compat-same",
    "project describe {space} {project}",
    "project list {space}",
    "project list-experiments {space} {project} --all",
    "rbac describe-role Viewer",
    "rbac list-groups-roles same-crew",
    "rbac list-roles",
    "rbac list-users-roles determined",
    "rbac my-permissions",
    "resources aggregated 2026-01-01 2026-01-02",
    "resources raw 2020-01-01T00:00:00Z 2020-01-02T00:00:00Z",
    "slot list",
    "task list",
    "token list",
    "trial describe {trial}",
    "trial describe {trial} --metrics",
    "trial logs {trial} --head 1",
    "user-group describe same-crew",
    "user-group list",
    "workspace describe {space}",
    "workspace list",
    "workspace list-members {space}",
    "workspace list-projects {space}",
)
CSV = (
    "agent list",
    "command list",
    "experiment describe {experiment},{waiting}",
    "experiment describe {experiment} --metrics",
    "experiment list -a --show_project",
    "experiment list-checkpoints {experiment}",
    "experiment list-trials {experiment}",
    "job list -p default",
    "slot list",
    "task list",
    "trial describe {trial}",
    "workspace list-members {space}",
)


@pytest.fixture(scope="module")
def names(
    client: Client, cluster: Cluster, finished: Finished, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[dict[str, str]]:
    """Something of each kind to be shown, with names that are hard to print."""
    folder = tmp_path_factory.mktemp("same")
    client.det("workspace", "create", SPACE)
    client.det("project", "create", SPACE, PROJECT, "--description", "of „q“, %s")
    client.det("user-group", "create", "same-crew", "--add-user", "determined")
    client.det("rbac", "assign-role", "Viewer", "-g", "same-crew", "-w", SPACE)
    client.det("rbac", "assign-role", "Editor", "-u", "determined", "-w", SPACE)
    token = client.det("token", "create", "determined", "--json").json()["tokenId"]
    client.det("model", "create", "compat-same", "--description", "told")
    path = f"/api/v1/experiments/{finished.id}/checkpoints"
    uuid = cluster.get(path)["checkpoints"][0]["uuid"]
    client.det("model", "register-version", "compat-same", uuid)
    endless = folder / "endless.yaml"
    text = (MODEL / "const.yaml").read_text().replace("steps: 3", "steps: 100000, nap: 60")
    place = f"workspace: {json.dumps(SPACE)}\nproject: {json.dumps(PROJECT)}\n"
    endless.write_text(text + place)
    made = created(client.det("experiment", "create", endless, MODEL))

    def is_running() -> bool:
        found: str = cluster.get(f"/api/v1/experiments/{made}")["experiment"]["state"]
        return found == "STATE_RUNNING"

    until(is_running, what="an experiment that runs")
    yield {
        "space": SPACE,
        "project": PROJECT,
        "experiment": str(finished.id),
        "waiting": str(made),
        "trial": str(finished.trial_id),
    }
    client.det("experiment", "kill", made)
    cluster.wait(made)
    client.det("model", "delete", "compat-same", typed="y\n")
    client.det("token", "revoke", token)
    client.det("rbac", "unassign-role", "Viewer", "-g", "same-crew", "-w", SPACE)
    client.det("rbac", "unassign-role", "Editor", "-u", "determined", "-w", SPACE)
    client.det("user-group", "delete", "same-crew", "--yes")
    client.det("workspace", "delete", SPACE, "--yes")

    def is_gone() -> bool:
        found = cluster.get("/api/v1/workspaces")["workspaces"]
        return SPACE not in [w["name"] for w in found]

    until(is_gone, what="the end of the workspace")


def words_of(command: str, names: dict[str, str]) -> list[str]:
    return [word.format_map(names) for word in command.split()]


def ours(cluster: Cluster, *words: str) -> str:
    """What our own command line prints."""
    home = {"HOME": str(cluster.root), "XDG_CONFIG_HOME": str(cluster.root / "ours")}
    kept = {k: v for k, v in os.environ.items() if not k.startswith(("DET_", "XDG_"))}
    # With a password each command would log in, which costs the master more than all else.
    login = {"DET_MASTER": cluster.address, "DET_USER_TOKEN": cluster.session().token}
    command = ["determined.cli", *words]
    done = _warm().run(command, {**kept, **home, **login}, cluster.root, "", COMMAND_LIMIT_S)
    assert done.returncode == 0, done.stderr
    return done.stdout


@cache
def _warm() -> Warm:
    later = ("agent.commands", "experiment.commands", "trial.commands", "workspace.commands")
    return Warm(
        Path(sys.executable), "determined.cli.main", [f"determined.cli.{n}" for n in later]
    )


def missing(theirs: Any, own: Any, path: str = "") -> Iterator[str]:
    """What of theirs is not in ours, or is another value there."""
    if isinstance(theirs, dict) and isinstance(own, dict):
        for key in theirs:
            if key not in own:
                yield f"{path}.{key} is missing"
            else:
                yield from missing(theirs[key], own[key], f"{path}.{key}")
    elif isinstance(theirs, list) and isinstance(own, list) and len(theirs) == len(own):
        for number, (one, other) in enumerate(zip(theirs, own, strict=True)):
            yield from missing(one, other, f"{path}[{number}]")
    elif theirs != own and path.rsplit(".", 1)[-1] not in MOVING:
        yield f"{path} is {own!r} instead of {theirs!r}"


MOVING = {"duration", "lastAuthAt", "wallClockTime", "progress"}
"""What may change between two commands."""


def parsed(text: str) -> Any:
    """The JSON of an output, which logs end with a line of words."""
    return json.JSONDecoder().raw_decode(text.lstrip())[0]


@pytest.mark.parametrize("command", JSON)
def test_the_json_has_all_that_it_had(
    client: Client, cluster: Cluster, names: dict[str, str], command: str
) -> None:
    words = words_of(command, names)
    if "bindings" not in words or "call" not in words:
        words.append("--json")
    theirs, own = parsed(client.det(*words).out), parsed(ours(cluster, *words))
    assert list(missing(theirs, own)) == []


def values(text: str) -> list[dict[str, Any]]:
    """Rows by their headers; what is JSON in a cell as what it says."""
    found: list[dict[str, Any]] = []
    for part in text.strip().replace("\r\n", "\n").split("\n\n"):
        rows = list(csv.reader(io.StringIO(part)))
        if rows and len(rows[0]) == 1 and rows[0][0].endswith(":"):
            rows = rows[1:]
        found += [dict(zip_longest(rows[0], map(_cell, row), fillvalue="")) for row in rows[1:]]
    return found


def _cell(text: str) -> Any:
    try:
        return json.loads(text)
    except ValueError:
        return text


@pytest.mark.parametrize("command", CSV)
def test_the_csv_has_all_that_it_had(
    client: Client, cluster: Cluster, names: dict[str, str], command: str
) -> None:
    words = [*words_of(command, names), "--csv"]
    theirs, own = values(client.det(*words).out), values(ours(cluster, *words))
    assert list(missing(theirs, own)) == []
    assert theirs or command == "command list"
