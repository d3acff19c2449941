"""The public client's classes against a cluster."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest
from tests.e2e.cluster import PASSWORD, until
from tests.e2e.live.conftest import SINGLE, WAITS, Person

from determined.common.api import errors
from determined.experimental import client

pytestmark = [pytest.mark.e2e, pytest.mark.slow, pytest.mark.xdist_group("live")]


@pytest.fixture
def cluster(person: Person) -> Iterator[client.Determined]:
    made = client.Determined(person.cluster.address, "admin", PASSWORD)
    yield made
    made._session.close()


def test_an_experiment_lives_in_the_hands_of_a_script(
    person: Person, cluster: client.Determined
) -> None:
    model = person.model(WAITS)
    config = person.file(SINGLE)
    made = cluster.create_experiment(config, str(model))
    trial = made.await_first_trial(interval=0.02)
    until(lambda: any("waiting" in line for line in trial.iter_logs()), what="the log")
    made.pause()
    until(lambda: _state(made) == "PAUSED", what="the pause")
    made.set_name("sdk")
    made.set_description("by a script")
    made.set_notes("noted")
    made.set_labels({"a", "b"})
    made.remove_label("b")
    made.add_label("c")
    told = cluster.get_experiment(made.id)
    assert (told.name, told.description, told.notes) == ("sdk", "by a script", "noted")
    assert told.labels == {"a", "c"}
    with pytest.raises(ValueError, match="PAUSED: activate it"):
        made.wait(interval=0.05)
    with pytest.raises(ValueError, match="has no Pachyderm section"):
        made.get_pachyderm_config()
    made.activate()
    made.kill()
    assert made.wait(interval=0.05) is client.ExperimentState.CANCELED
    made.archive()
    made.unarchive()
    assert [e.id for e in cluster.list_experiments(experiment_ids=[made.id])] == [made.id]
    code = Path(made.download_code(str(person.folder / "code")))
    assert code.stat().st_size > 0
    made.delete()
    person.reaches_gone(made.id)


def _state(found: client.Experiment) -> str:
    found.reload()
    assert found.state is not None
    return found.state.name


def test_trials_checkpoints_and_metrics_are_read(
    person: Person, cluster: client.Determined, finished_id: int
) -> None:
    experiment = cluster.get_experiment(finished_id)
    trials = experiment.list_trials(client.TrialSortBy.ID, client.OrderBy.DESC)
    assert [t.id for t in trials] == sorted((t.id for t in trials), reverse=True)
    trial = cluster.get_trial(trials[0].id)
    assert trial.get_experiment().id == finished_id
    assert trial.summary_metrics is not None
    reports = list(trial.iter_metrics("training"))
    assert [r.steps_completed for r in reports] == [1, 2, 3]
    assert {r.group for r in trial.stream_validation_metrics()} == {"validation"}
    both = list(cluster.iter_trials_metrics([t.id for t in trials], "validation"))
    assert len(both) == 6
    best = trial.top_checkpoint(sort_by="acc", smaller_is_better=False)
    assert best.metadata is not None
    assert best.metadata["steps_completed"] == 3
    assert len(experiment.top_n_checkpoints(5)) == 2
    first = trial.list_checkpoints(client.CheckpointSortBy.BATCH_NUMBER, client.OrderBy.ASC)[0]
    first.add_metadata({"mine": 1})
    assert cluster.get_checkpoint(first.uuid).metadata == {"steps_completed": 1, "mine": 1}
    first.remove_metadata(["mine"])
    path = Path(first.download(str(person.folder / "first"), client.DownloadMode.MASTER))
    assert (path / "step").read_text() == "1"
    with pytest.raises(ValueError, match="has no Pachyderm commit"):
        first.get_pachyderm_commit()
    assert any("step 3" in line for line in trial.logs(tail=5, search_text="step"))


def test_workspaces_and_projects_are_kept(person: Person, cluster: client.Determined) -> None:
    workspace = cluster.create_workspace("sdk")
    assert "sdk" in [w.name for w in cluster.list_workspaces()]
    assert [pool.name for pool in workspace.list_pools()] == ["default", "lab"]
    project = workspace.create_project("first", "of the sdk")
    assert [p.id for p in workspace.list_projects()] == [project.id]
    project.set_name("renamed")
    project.set_description("told again")
    project.set_key("sdk")
    assert (project.name, project.description, project.key) == ("renamed", "told again", "SDK")
    project.add_note("one", "contents")
    project.add_note("two", "")
    project.remove_note("one")
    assert [n["name"] for n in workspace.get_project("renamed").notes or ()] == ["two"]
    with pytest.raises(ValueError, match="no note named 'one'"):
        project.remove_note("one")
    project.archive()
    assert project.archived
    project.unarchive()
    number = person.create(SINGLE, "", "--paused")
    experiment = cluster.get_experiment(number)
    experiment.move_to_project("sdk", "renamed")
    assert experiment.project_id == project.id
    assert [e.id for e in project.list_experiments()] == [number]
    with pytest.raises(errors.NotFoundException):
        experiment.move_to_project("sdk", "nosuch")
    with pytest.raises(errors.NotFoundException):
        experiment.move_to_project("nosuch", "renamed")
    experiment.kill()
    experiment.wait(interval=0.05)
    workspace.delete_project("renamed")
    until(lambda: workspace.list_projects() == [], what="no projects")
    cluster.delete_workspace("sdk")
    with pytest.raises(errors.NotFoundException):
        cluster.get_workspace("sdk")
