"""Forks, comparisons, and commands on several experiments against a cluster."""

from __future__ import annotations

import pytest
from tests.e2e.live.conftest import CONFIG, SINGLE, TRAIN, Person

pytestmark = [pytest.mark.e2e, pytest.mark.slow, pytest.mark.xdist_group("live")]
live = pytest.mark.live
FAILS = "raise SystemExit(3)"


@live("experiment list-trials")
def test_a_fork_runs_and_is_compared_with_its_parent(person: Person) -> None:
    parent = person.create(CONFIG, TRAIN)
    person.det("e", "wait", parent, "--polling-interval", 0.05)
    said = person.det("e", "fork", parent, "--config", "searcher.max_trials=1", "--name", "again")
    fork = int(said.out.split()[2])
    person.det("e", "wait", fork, "--polling-interval", 0.05)
    assert person.experiment(fork)["forkedFrom"] == parent
    shown = person.det("e", "compare", parent, fork, "--json").json()
    assert [e["config"] for e in shown] == [
        {"searcher.max_trials": 2},
        {"searcher.max_trials": 1},
    ]
    assert [e["results"]["state"] for e in shown] == ["COMPLETED", "COMPLETED"]
    rows = person.det("e", "list-trials", parent, "--best", "--csv").rows()
    metrics = [float(row["Searcher Metric"]) for row in rows]
    assert metrics == sorted(metrics)
    assert [row["Restarts"] for row in rows] == ["0", "0"]


def test_a_fork_of_a_trial_starts_from_its_checkpoint(person: Person) -> None:
    parent = person.create(CONFIG, TRAIN)
    person.det("e", "wait", parent, "--polling-interval", 0.05)
    [trial, _] = person.cluster.trials(parent)
    fork = int(person.det("t", "fork", trial["id"]).out.split()[2])
    person.det("e", "wait", fork, "--polling-interval", 0.05)
    [own] = person.cluster.trials(fork)
    assert own["hparams"] == trial["hparams"]
    assert own["warmStartCheckpointUuid"]


@live("experiment pause", "experiment kill")
def test_several_experiments_are_killed_at_once_and_failures_have_no_full_progress(
    person: Person,
) -> None:
    first, second = person.create(), person.create()
    said = person.det("e", "kill", first, second, 999_999, code=1)
    assert said.out == f"Killed experiment {first}\nKilled experiment {second}\n"
    assert "experiment 999999: " in said.err
    failed = person.create(CONFIG, FAILS)
    person.reaches(failed, "ERROR")
    assert person.experiment(failed)["progress"] < 1
    trial = person.trial(failed)["id"]
    for noun, number in (("experiment", failed), ("trial", trial)):
        told = person.det(noun, "story", number).out
        said = person.det(noun, "kill", number).out
        assert said == f"{noun.title()} {number} had ended already: ERROR\n"
        assert person.det(noun, "story", number).out == told


def test_reasons_stand_in_the_story_and_the_description(person: Person) -> None:
    failed = person.create(CONFIG, FAILS)
    said = person.det("e", "wait", failed, "--polling-interval", 0.05, code=1)
    assert "exit code 3" in said.err
    first = person.cluster.trials(failed)[0]["id"]
    story = person.det("e", "story", failed).out
    assert f"trial={first}" in story
    assert story.splitlines()[-1].startswith(("Reason: exit code 3", "Reason: no luck"))
    assert "all of its trials failed" in story.splitlines()[-1]
    assert f"Trial {first} is ERROR: " in person.det("t", "describe", first).out
    assert f"Experiment {failed} is ERROR: " in person.det("e", "describe", failed).out


def test_a_search_without_its_time_metric_names_the_trial_by_its_number(person: Person) -> None:
    searcher = "{name: adaptive_asha, metric: loss, max_trials: 1, max_time: 4, time_metric: t}"
    failed = person.create(
        CONFIG.replace("{name: random, metric: loss, max_trials: 2}", searcher), TRAIN
    )
    person.reaches(failed, "ERROR")
    trial = person.trial(failed)["id"]
    why = f"the search needs 't' as a number in every validation report; trial {trial} reported"
    for noun, number in (("e", failed), ("t", trial)):
        assert why in person.det(noun, "describe", number).out
        assert why in person.det(noun, "story", number).out.splitlines()[-1]
    person.det_comes_to_say(why, "t", "logs", trial)


def test_trials_without_the_metric_are_the_last_of_the_best_ones(person: Person) -> None:
    searcher = "{name: grid, metric: loss, smaller_is_better: true}"
    text = CONFIG.replace("{name: random, metric: loss, max_trials: 2}", searcher)
    text = text.replace("{type: int, minval: 1, maxval: 9}", "{type: categorical, vals: [1, 2]}")
    number = person.create(text, "import sys\nif quality == 1: sys.exit(3)\n".join(_halves(TRAIN)))
    person.det("e", "wait", number, "--polling-interval", 0.05)
    rows = person.det("e", "list-trials", number, "--best", "--csv").rows()
    assert [(row["State"], bool(row["Searcher Metric"])) for row in rows] == [
        ("COMPLETED", True),
        ("ERROR", False),
    ]
    failed = person.create(CONFIG, FAILS)
    person.reaches(failed, "ERROR")
    shown = person.det("e", "compare", number, failed, "--json").json()
    assert [e["results"]["best metric"][:6] for e in shown] == ["loss: ", ""]


def _halves(script: str) -> tuple[str, str]:
    """A script before and after the start of its work."""
    before, _, after = script.partition("with core.init")
    return before, f"with core.init{after}"


def test_a_single_trial_without_its_metric_is_warned_of(person: Person) -> None:
    silent = person.create(SINGLE, "print('done')")
    said = person.det("e", "wait", silent, "--polling-interval", 0.05)
    assert "reported no number as the validation metric 'loss'" in said.err


def test_the_metrics_that_were_reported_are_named_where_the_searchers_was_not(
    person: Person,
) -> None:
    script = (
        "from determined import core\n"
        "with core.init() as context:\n"
        "    context.train.report_validation_metrics(1, {'val_error': 0.5, 'accuracy': 1})\n"
    )
    for config in (SINGLE, CONFIG):
        other = person.create(config, script)
        said = person.det("e", "wait", other, "--polling-interval", 0.05)
        assert said.err.startswith("Warning: its trials reported no number as the validation")
        assert "metric 'loss' (searcher.metric), so no checkpoint is the best" in said.err
        assert "; reported were 'accuracy', 'val_error'" in said.err
