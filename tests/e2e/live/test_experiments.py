"""`det experiment` against a cluster: every command does what it says."""

from __future__ import annotations

import tarfile
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest
from tests.e2e.live.conftest import CONFIG, FREE_PREVIEW, SINGLE, TRAIN, Person
from tests.e2e.scripts import ANSWERS_ONCE, answered
from tests.free_ports import free_port

pytestmark = [pytest.mark.e2e, pytest.mark.slow, pytest.mark.xdist_group("live")]
live = pytest.mark.live


@live("experiment create", "experiment wait")
def test_an_experiment_is_created_and_awaited(person: Person) -> None:
    number = person.create(CONFIG.replace("max_trials: 2", "max_trials: 1"), TRAIN)
    assert person.det("e", "wait", number, "--polling-interval", 0.05).out == (
        f"Experiment {number} is COMPLETED\n"
    )
    assert person.state(number) == "COMPLETED"


@live("experiment create")
def test_a_test_is_judged_by_its_end(person: Person) -> None:
    model = person.model("print('tried')")
    words = ("e", "create", person.file(CONFIG), model, "--test-mode")
    tried = person.det(*words)
    said = tried.out
    assert tried.err == ""  # no warning about keys that the test has set
    number = int(said.split("Created experiment ")[1].split()[0])
    assert "tried" in said
    assert f"experiment {number} is archived" in said
    assert person.experiment(number)["numTrials"] == 1
    failing = person.model("raise SystemExit(3)")
    said = person.det("e", "create", person.file(CONFIG), failing, "-t", code=1).err
    assert "the test ended in state ERROR" in said


@live("experiment create")
def test_a_port_of_the_trial_is_reached_here_while_it_is_followed(person: Person) -> None:
    port, local = free_port(), free_port()
    config = f"{SINGLE}environment: {{environment_variables: [PORT={port}]}}\n"
    with ThreadPoolExecutor(1) as threads:
        asking = threads.submit(answered, local)
        number = person.create(config, ANSWERS_ONCE, "--publish", f"{local}:{port}")
        asking.result()
    assert person.experiment(number)["config"]["environment"]["proxy_ports"] == [
        {
            "proxy_port": port,
            "proxy_tcp": True,
            "unauthenticated": False,
            "default_service_id": False,
        }
    ]
    person.reaches(number, "COMPLETED")


@live("experiment create")
def test_an_entrypoint_runs_here_without_a_cluster(person: Person) -> None:
    script = "import pathlib\npathlib.Path('ran').write_text('here')"
    model = person.model(script)
    person.det("e", "create", person.file(CONFIG), model, "--local")
    assert (model / "ran").read_text() == "here"
    failing = person.model("raise SystemExit(3)")
    said = person.det("e", "create", person.file(CONFIG), failing, "--local", code=1)
    assert "exited with status 3" in said.err


@live(
    "experiment pause",
    "experiment activate",
    "experiment cancel",
    "experiment archive",
    "experiment unarchive",
    "experiment continue",
    "experiment kill",
)
def test_an_experiment_is_steered_through_its_life(person: Person) -> None:
    number = person.create()
    person.prints(number, "waiting")
    person.det("e", "pause", number)
    person.reaches(number, "PAUSED")
    person.det("e", "unpause", number)
    person.reaches(number, "RUNNING")
    person.det("e", "cancel", number)
    person.reaches(number, "CANCELED")
    person.det("e", "archive", number)
    assert "already archived" in person.det("e", "archive", number, code=1).err
    assert str(number) not in [row["ID"] for row in person.det("e", "list", "--csv").rows()]
    person.det("e", "unarchive", number)
    said = person.det("e", "continue", number, "--config", "name=again")
    assert said.out == f"Continued experiment {number}\n"
    assert person.experiment(number)["name"] == "again"
    person.reaches(number, "RUNNING", "STARTING", "PULLING", "QUEUED")
    person.det("e", "kill", number)
    person.reaches(number, "CANCELED")


@live("experiment list", "experiment list-trials", "experiment list-checkpoints")
def test_experiments_trials_and_checkpoints_are_listed(person: Person, finished_id: int) -> None:
    rows = {row["ID"]: row for row in person.det("e", "ls", "--show_project", "--csv").rows()}
    mine = rows[str(finished_id)]
    assert (mine["Name"], mine["Project"], mine["State"]) == (
        "counts",
        "Uncategorized",
        "COMPLETED",
    )
    assert person.det("e", "list", "--limit", 1, "--pages", 1, "--csv").rows() != []
    trials = person.det("e", "lt", finished_id, "--csv").rows()
    assert [row["# of Batches"] for row in trials] == ["3", "3"]
    assert len(person.det("e", "lc", finished_id, "--csv").rows()) == 6
    [best] = person.det("e", "lc", finished_id, "--best", 1, "--csv").rows()
    stored = person.cluster.get(f"/api/v1/experiments/{finished_id}/checkpoints")["checkpoints"]
    values = [c["training"]["searcherMetric"] for c in stored]
    assert float(best["Validation Metric"]) == min(values)


@live("experiment describe", "experiment config", "experiment logs")
def test_an_experiment_is_described(person: Person, finished_id: int, tmp_path: Path) -> None:
    [told] = person.det("e", "describe", finished_id, "--json").json()
    assert told["experiment"]["id"] == finished_id
    person.det("e", "describe", finished_id, "--metrics", "--outdir", tmp_path / "tables")
    names = {path.name for path in (tmp_path / "tables").iterdir()}
    assert names == {"experiments.csv", "trials.csv", "workloads.csv"}
    assert "max_trials: 2" in person.det("e", "config", finished_id).out
    assert "step 3" in person.det("e", "logs", finished_id).out
    lines = person.det("e", "logs", finished_id, "--tail", 2, "--json").out
    assert lines.count('"message"') == 2


@live("experiment download", "experiment download-model-def")
def test_files_of_an_experiment_are_downloaded(
    person: Person, finished_id: int, tmp_path: Path
) -> None:
    said = person.det("e", "download", finished_id, "--top-n", 2, "-o", tmp_path / "best", "-q")
    paths = [Path(line) for line in said.out.splitlines()]
    assert [(path / "step").read_text() for path in paths] == ["3", "3"]
    assert {path.parent for path in paths} == {tmp_path / "best"}
    by = ("--sort-by", "acc", "--smaller-is-better", "true")
    said = person.det("e", "download", finished_id, *by, "-q")
    assert (Path(said.out.strip()) / "step").read_text() == "1"
    wrong = person.det("e", "download", finished_id, "--smaller-is-better", "maybe", code=1)
    assert "must be true or false" in wrong.err
    person.det("e", "download-model-def", finished_id, "--output-dir", tmp_path)
    with tarfile.open(tmp_path / f"experiment_{finished_id}_model_def.tgz") as archive:
        assert archive.getnames() == ["train.py"]


@live(
    "experiment set name",
    "experiment set description",
    "experiment set priority",
    "experiment set weight",
    "experiment set max-slots",
    "experiment set log-retention",
    "experiment label add",
    "experiment label remove",
    "experiment delete",
    "experiment delete-tb-files",
    "experiment set gc-policy",
)
def test_an_experiment_is_changed_and_deleted(person: Person) -> None:
    number = person.create(CONFIG.replace("[one]", "[a]"), TRAIN, "--paused")
    for words in (
        ("name", "renamed"),
        ("description", "told again"),
        ("priority", 7),
        ("weight", 2.5),
        ("max-slots", 1),
    ):
        person.det("e", "set", words[0], number, words[1])
    person.det("e", "set", "log-retention", number, "--days", 5)
    assert "--days" in person.det("e", "set", "log-retention", number, code=1).err
    person.det("e", "label", "add", number, "b")
    person.det("e", "label", "remove", number, "a")
    shown = person.cluster.get(f"/api/v1/experiments/{number}")
    config, experiment = shown["config"], shown["experiment"]
    assert (experiment["name"], experiment["description"]) == ("renamed", "told again")
    assert experiment["labels"] == ["b"]
    assert [config["resources"][n] for n in ("priority", "weight", "max_slots")] == [7, 2.5, 1]
    assert config["retention_policy"]["log_retention_days"] == 5
    person.det("e", "activate", number)
    person.det("e", "wait", number, "--polling-interval", 0.05)
    policy = [f"--save-{name}" for name in ("experiment-best", "trial-best", "trial-latest")]
    keep_none = [word for name in policy for word in (name, "0")]
    person.det("e", "set", "gc-policy", number, *keep_none, typed="y\n")
    person.det("e", "delete-tb-files", number)
    refused = person.det("e", "delete", number, typed="n\n", code=1)
    assert "nothing was changed" in refused.err
    person.det("e", "delete", number, "--yes")
    person.reaches_gone(number)


@live("experiment move")
def test_an_experiment_is_moved(person: Person) -> None:
    config = "{name: m, entrypoint: x, searcher: {name: single, metric: loss}}"
    number = person.create(config, "", "--paused")
    person.det("w", "create", "moving")
    person.det("p", "create", "moving", "target")
    person.det("e", "move", number, "moving", "target")
    moved = person.experiment(number)
    assert (moved["workspaceName"], moved["projectName"]) == ("moving", "target")
    said = person.det("e", "move", number, "nosuch", "target", code=1).err
    assert "there is no workspace 'nosuch'; there are: 'Uncategorized'" in said
    said = person.det("e", "move", number, "moving", "nosuch", code=1).err
    assert "workspace 'moving' has no project 'nosuch'; it has: 'target'" in said


@live("preview-search")
def test_a_search_is_previewed(person: Person) -> None:
    said = person.det("preview-search", person.file(FREE_PREVIEW)).out
    assert "3" in said
    assert "random" in said


@live("experiment list")
def test_a_table_on_a_narrow_terminal_breaks_no_line(
    person: Person, finished_id: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("COLUMNS", "80")
    monkeypatch.setenv("NO_COLOR", "1")
    tables = [person.det_on_terminal("e", *words) for words in (("list",), ("lc", finished_id))]
    for table in tables:
        assert max(len(line) for line in table.splitlines()) <= 80
    assert "COMPLETED" in tables[0]
    assert person.trial(finished_id)["bestCheckpoint"]["uuid"] in tables[1]
