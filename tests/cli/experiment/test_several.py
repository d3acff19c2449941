"""`det experiment`: several ids, forks, comparisons, and trials by their metric."""

from __future__ import annotations

import json
from typing import Any

import pytest
from tests.cli.conftest import Det
from tests.cli.fake_master import FakeMaster

from determined.common import config_text


def experiment(number: int, **config: Any) -> dict[str, Any]:
    searcher = {"name": "grid", "metric": "loss", "smaller_is_better": True}
    return {
        "id": number,
        "name": f"e{number}",
        "state": "STATE_COMPLETED",
        "startTime": "2026-11-24T01:00:00.123Z",
        "endTime": "2026-11-24T01:00:10Z",
        "projectId": 4,
        "config": {"searcher": searcher, "max_restarts": 1, "workspace": "w", **config},
    }


def trial(number: int, metric: float | None) -> dict[str, Any]:
    return {
        "id": number,
        "experimentId": 7,
        "state": "STATE_COMPLETED",
        "hparams": {"lr": number},
        "startTime": None,
        "endTime": None,
        "totalBatchesProcessed": 1,
        "searcherMetricValue": metric,
        "restarts": number,
    }


@pytest.fixture
def two(master: FakeMaster) -> FakeMaster:
    for number in (7, 8):
        found = experiment(number, hyperparameters={"lr": number}, resources={"slots": 1})
        master.routes["GET", f"/api/v1/experiments/{number}"] = (
            200,
            {"experiment": found, "config": found["config"]},
        )
        trials = {"trials": [trial(1, 0.5), trial(2, None), trial(3, 0.25)]}
        page = {**trials, "pagination": {"endIndex": 3, "total": 3}}
        master.routes["GET", f"/api/v1/experiments/{number}/trials"] = (200, page)
    return master


def test_one_failure_does_not_keep_the_others_from_being_done(det: Det, two: FakeMaster) -> None:
    two.routes["POST", "/api/v1/experiments/7/pause"] = (400, {"error": {"error": "has ended"}})
    two.routes["POST", "/api/v1/experiments/8/pause"] = (200, {})
    outcome = det("e", "pause", "7", "8", "8")
    assert (outcome.status, outcome.out) == (1, "Paused experiment 8\n")
    assert "experiment 7: has ended" in outcome.err


def test_a_comparison_shows_results_and_only_the_settings_that_differ(
    det: Det, two: FakeMaster
) -> None:
    out = det("e", "compare", "7", "8", "--csv").out.splitlines()
    assert out[0] == ",Experiment 7,Experiment 8"
    assert "best metric,loss: 0.25,loss: 0.25" in out
    assert out[-1] == "hyperparameters.lr,7,8"
    shown = json.loads(det("e", "compare", "7", "8", "--json").out)
    assert [e["config"] for e in shown] == [
        {"hyperparameters.lr": 7},
        {"hyperparameters.lr": 8},
    ]
    assert "at least two" in det("e", "compare", "7").err


def test_the_best_trials_come_first_and_those_without_a_metric_last(
    det: Det, two: FakeMaster
) -> None:
    rows = det("e", "list-trials", "7", "--best", "--csv").out.splitlines()
    assert rows[0].endswith("# of Batches,Searcher Metric,Restarts")
    assert [row.split(",")[0] for row in rows if row[:1].isdigit()] == ["3", "1", "2"]
    assert [t["id"] for t in json.loads(det("e", "lt", "7", "--json").out)] == [1, 2, 3]


def test_a_fork_has_the_configuration_and_the_files_of_its_parent(
    det: Det, two: FakeMaster
) -> None:
    create = ("POST", "/api/v1/experiments")
    two.routes[create] = (200, {"experiment": {"id": 9}, "configWarnings": []})
    outcome = det("e", "fork", "7", "--config", "max_restarts=3", "--paused")
    assert outcome.out == "Created experiment 9 from experiment 7\n", outcome.err
    (call,) = two.made(*create)
    config = config_text.load(call.json["config"], "sent")
    assert {k: v for k, v in call.json.items() if k != "config"} == {
        "parentId": 7,
        "projectId": 4,
        "activate": False,
    }
    assert (config["name"], config["max_restarts"]) == ("Fork of e7", 3)
    assert "workspace" not in config


def test_a_fork_of_a_trial_starts_from_its_checkpoint(det: Det, two: FakeMaster) -> None:
    create = ("POST", "/api/v1/experiments")
    two.routes[create] = (200, {"experiment": {"id": 9}, "configWarnings": []})
    two.routes["GET", "/api/v1/trials/3"] = (200, {"trial": trial(3, 0.25)})
    assert det("t", "fork", "3", "--name", "again").status == 0
    (call,) = two.made(*create)
    config = config_text.load(call.json["config"], "sent")
    assert config["hyperparameters"] == {"lr": 3}
    assert config["searcher"]["source_trial_id"] == 3
    assert config["name"] == "again"
