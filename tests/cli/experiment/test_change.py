"""`det experiment continue, delete, label, set`: their requests."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from tests.cli import canned
from tests.cli.conftest import Det
from tests.cli.fake_master import FakeMaster

PATCH = ("PATCH", "/api/v1/experiments/7")
OK: tuple[int, Any] = (200, {})


@pytest.mark.parametrize(
    ("words", "body"),
    [
        (("set", "name", "7", "n"), {"name": "n"}),
        (("set", "description", "7", "d"), {"description": "d"}),
        (("set", "priority", "7", "3"), {"resources": {"priority": 3}}),
        (("set", "weight", "7", "2.5"), {"resources": {"weight": 2.5}}),
        (("set", "max-slots", "7", "4"), {"resources": {"max_slots": 4}}),
        (("label", "add", "7", "c"), {"labels": ["a", "b", "c"]}),
        (("label", "remove", "7", "a"), {"labels": ["b"]}),
    ],
)
def test_a_change_is_one_patch(
    det: Det, master: FakeMaster, words: tuple[str, ...], body: dict[str, Any]
) -> None:
    master.routes[PATCH] = OK
    outcome = det("e", *words)
    assert outcome.status == 0, outcome.err
    (call,) = master.made(*PATCH)
    assert call.json == {"id": 7, **body}
    assert "experiment 7" in outcome.out


def test_set_gc_policy_prints_the_deletions_before_it_asks(det: Det, master: FakeMaster) -> None:
    master.routes[PATCH] = OK
    preview = ("GET", "/experiments/7/preview_gc")
    master.routes[preview] = (200, {"checkpoints": [{}, {}], "metric_name": "loss"})
    words = ["--save-experiment-best", "0", "--save-trial-best", "1", "--save-trial-latest", "2"]
    refused = det("e", "set", "gc-policy", "7", *words, stdin="n\n")
    assert refused.status == 1
    assert "2 checkpoint(s)" in refused.out
    assert not master.made(*PATCH)
    assert det("e", "set", "gc-policy", "7", *words, "--yes").status == 0
    (call,) = master.made(*PATCH)
    policy = {"save_experiment_best": 0, "save_trial_best": 1, "save_trial_latest": 2}
    assert call.json == {"id": 7, "checkpointStorage": policy}


@pytest.mark.parametrize(("words", "days"), [(("--days", "9"), 9), (("--forever",), -1)])
def test_log_retention_is_in_days_or_forever(
    det: Det, master: FakeMaster, words: tuple[str, ...], days: int
) -> None:
    route = ("PUT", "/api/v1/experiments/7/retain_logs")
    master.routes[route] = OK
    assert det("e", "set", "log-retention", "7", *words).status == 0
    (call,) = master.made(*route)
    assert call.json == {"experimentId": 7, "numDays": days}
    assert det("e", "set", "log-retention", "7").status == 1


def test_an_experiment_is_deleted_after_a_confirmation(det: Det, master: FakeMaster) -> None:
    route = ("DELETE", "/api/v1/experiments/7")
    master.routes[route] = OK
    assert det("e", "delete", "7", stdin="no\n").status == 1
    assert not master.made(*route)
    assert det("e", "delete", "7", stdin="yes\n").status == 0
    assert det("e", "delete", "7", "--yes").status == 0
    assert len(master.made(*route)) == 2


def test_tensorboard_files_are_deleted(det: Det, master: FakeMaster) -> None:
    route = ("DELETE", "/api/v1/experiments/7/tensorboard-files")
    master.routes[route] = OK
    assert det("e", "delete-tb-files", "7").status == 0
    assert len(master.made(*route)) == 1


def test_continue_sends_the_config_file_with_overrides(
    det: Det, master: FakeMaster, tmp_path: Path
) -> None:
    route = ("POST", "/api/v1/experiments/continue")
    master.routes[route] = (200, {})
    assert det("e", "continue", "7").out == "Continued experiment 7\n"
    (tmp_path / "more.yaml").write_text("max_restarts: 3\n")
    file = str(tmp_path / "more.yaml")
    words = ("--config-file", file, "--config", "searcher.max_length=9", "-f")
    followed = det("e", "continue", "7", *words)
    assert "Following first trial with ID 11" in followed.out
    plain, changed = master.made(*route)
    assert plain.json == {"id": 7, "overrideConfig": ""}
    assert changed.json["overrideConfig"] == "max_restarts: 3\nsearcher:\n  max_length: 9\n"


@pytest.mark.parametrize(("verb", "done"), [("kill", "Killed"), ("cancel", "Canceled")])
def test_ending_what_has_ended_says_so(det: Det, master: FakeMaster, verb: str, done: str) -> None:
    assert det("e", verb, "7").out == "Experiment 7 had ended already: COMPLETED\n"
    active = {"experiment": {**canned.EXPERIMENT, "state": "STATE_ACTIVE"}, "config": {}}
    master.routes["GET", "/api/v1/experiments/7"] = (200, active)
    assert det("e", verb, "7").out == f"{done} experiment 7\n"
