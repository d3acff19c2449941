"""`det experiment create`: one request, and refusals before any request."""

from __future__ import annotations

import base64
import json
from pathlib import Path

import pytest
from tests.cli import canned
from tests.cli.conftest import Det
from tests.cli.fake_master import Call, FakeMaster
from tests.covers import covers

CREATE = ("POST", "/api/v1/experiments")
CONFIG = "# kept\nname: x\nentrypoint: python3 train.py\n"


@pytest.fixture
def model(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    folder = tmp_path / "model"
    folder.mkdir()
    (folder / "train.py").write_text("pass\n")
    (folder / "c.yaml").write_text(CONFIG)
    monkeypatch.chdir(folder)
    return folder


def test_config_and_files_are_sent_unchanged(det: Det, master: FakeMaster, model: Path) -> None:
    outcome = det("e", "create", "c.yaml", ".", "--project_id", "3", "--template", "t")
    assert outcome.out == "Created experiment 7\n"
    (call,) = master.made(*CREATE)
    body = call.json
    files = {item.pop("path"): item for item in body.pop("modelDefinition")}
    assert sorted(files) == ["c.yaml", "train.py"]
    assert base64.b64decode(files["train.py"]["content"]) == b"pass\n"
    assert body == {
        "config": CONFIG,
        "activate": True,
        "parentId": None,
        "projectId": 3,
        "template": "t",
        "validateOnly": False,
    }
    assert len(call.headers["idempotency-key"]) == 36


def test_a_retry_after_a_lost_answer_uses_the_same_key(
    det: Det, master: FakeMaster, model: Path
) -> None:
    def lose_first(call: Call) -> tuple[int, object]:
        if len(master.made(*CREATE)) == 1:
            return 503, {}
        return 200, {"experiment": canned.EXPERIMENT, "config": {}, "warnings": []}

    master.routes[CREATE] = lose_first
    assert det("e", "create", "c.yaml", ".").status == 0
    first, second = master.made(*CREATE)
    assert first.headers["idempotency-key"] == second.headers["idempotency-key"]
    assert first.body == second.body


def test_two_commands_have_two_keys(det: Det, master: FakeMaster, model: Path) -> None:
    det("e", "create", "c.yaml")
    det("e", "create", "c.yaml")
    first, second = master.made(*CREATE)
    assert first.headers["idempotency-key"] != second.headers["idempotency-key"]


def test_paused_does_not_activate(det: Det, master: FakeMaster, model: Path) -> None:
    det("e", "create", "c.yaml", "--paused")
    assert master.made(*CREATE)[0].json["activate"] is False


@covers("experiment-config 18.layer.2")
def test_overrides_keep_the_comments_of_the_config(
    det: Det, master: FakeMaster, model: Path
) -> None:
    words = ["--config", "resources.slots_per_trial=2", "--config", "labels=a,b"]
    det("e", "create", "c.yaml", *words)
    text = master.made(*CREATE)[0].json["config"]
    assert text.startswith("# kept\nname: x\n")
    assert "slots_per_trial: 2" in text


def test_follow_prints_the_whole_log_of_the_first_trial(
    det: Det, master: FakeMaster, model: Path
) -> None:
    lines = det("e", "create", "c.yaml", "-f").out.splitlines()
    assert lines[:3] == [
        "Created experiment 7",
        "Waiting for first trial to begin...",
        "Following first trial with ID 11",
    ]
    assert lines[-2:] == [
        "Trial log stream ended. To reopen log stream, run: det trial logs -f 11",
        "Trial 11 is COMPLETED",
    ]
    assert master.calls[-3].query["follow"] == ["true"]


def test_follow_fails_when_the_trial_has_failed(det: Det, master: FakeMaster, model: Path) -> None:
    failed = {**canned.TRIAL, "state": "STATE_ERROR"}
    master.routes["GET", "/api/v1/trials/11"] = (200, {"trial": failed})
    story = {"lines": [], "reason": "exit code 3"}
    master.routes["GET", "/api/v1/trials/11/story"] = (200, story)
    outcome = det("e", "create", "c.yaml", "-f")
    assert outcome.status == 1
    assert outcome.err.endswith(
        "Failed to follow experiment 7: trial 11 ended in state ERROR: exit code 3; see "
        "'det trial story 11'\n"
    )


def test_follow_waits_a_moment_for_the_trial_to_end(
    det: Det, master: FakeMaster, model: Path
) -> None:
    states = ["STATE_RUNNING", "STATE_COMPLETED"]
    master.routes["GET", "/api/v1/trials/11"] = lambda call: (
        200,
        {"trial": {**canned.TRIAL, "state": states.pop(0)}},
    )
    assert det("e", "create", "c.yaml", "-f").out.endswith("Trial 11 is COMPLETED\n")


def test_follow_waits_for_the_first_trial(det: Det, master: FakeMaster, model: Path) -> None:
    answers = [[], [], [canned.TRIAL]]
    route = ("GET", "/api/v1/experiments/7/trials")
    master.routes[route] = lambda call: (200, canned.page("trials", *answers.pop(0)))
    master.routes[("GET", "/api/v1/experiments/7")] = (
        200,
        {"experiment": {**canned.EXPERIMENT, "state": "STATE_ACTIVE"}, "config": {}},
    )
    assert "Following first trial with ID 11" in det("e", "create", "c.yaml", "-f").out
    assert answers == []


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("name: [1\n", "c.yaml: line"),
        ("a: 1\nb: 2\na: 3\n", "lines 1 and 3"),
        ("- 1\n", "mapping"),
        ("", "this is empty"),
    ],
)
def test_the_error_for_an_invalid_config_names_the_line(
    det: Det, master: FakeMaster, model: Path, text: str, words: str
) -> None:
    (model / "c.yaml").write_text(text)
    outcome = det("e", "create", "c.yaml")
    assert outcome.status == 1
    assert outcome.err.startswith("Failed to create experiment: c.yaml")
    assert words in outcome.err
    assert master.calls == []


def test_the_error_names_a_missing_config_file(det: Det, master: FakeMaster, model: Path) -> None:
    outcome = det("e", "create", "none.yaml")
    assert outcome.status == 1
    assert "config file 'none.yaml': No such file or directory" in outcome.err


def test_the_error_for_swapped_arguments_has_the_right_command(
    det: Det, master: FakeMaster, model: Path
) -> None:
    (model / "my code").mkdir()
    outcome = det("e", "create", "my code", "c.yaml")
    assert outcome.status == 1
    assert outcome.err == (
        "Failed to create experiment: config file 'my code' is a directory and model directory "
        "'c.yaml' is a file: the arguments are swapped; run: "
        "det experiment create c.yaml 'my code'\n"
    )
    assert master.calls == []


@pytest.mark.parametrize("more", [(), (".",), ("none.yaml",)])
def test_the_error_for_a_directory_as_config_file_asks_for_a_yaml_file(
    det: Det, master: FakeMaster, model: Path, more: tuple[str, ...]
) -> None:
    outcome = det("e", "create", ".", *more)
    assert outcome.status == 1
    assert "config file '.' is a directory: name a YAML file" in outcome.err
    assert "swapped" not in outcome.err
    assert master.calls == []


def test_an_invalid_model_directory_is_refused_before_any_request(
    det: Det, master: FakeMaster, model: Path
) -> None:
    (model / "out").symlink_to("/etc/hostname")
    outcome = det("e", "create", "c.yaml", ".")
    assert outcome.status == 1
    assert "leads out of" in outcome.err
    assert master.calls == []


def test_warnings_of_the_master_are_printed(det: Det, master: FakeMaster, model: Path) -> None:
    known = "LAUNCH_WARNING_CURRENT_SLOTS_EXCEEDED"
    body = {"experiment": canned.EXPERIMENT, "config": {}, "warnings": ["LOOK", known]}
    master.routes[CREATE] = (200, body)
    master.sent_headers["X-Determined-Config-Warnings"] = '["line 5: this is a text"]'
    said = det("e", "create", "c.yaml").err
    assert "Warning: LOOK\n" in said
    assert "Warning: it requests more slots than the cluster has now" in said
    assert "Warning: line 5: this is a text\n" in said


@pytest.mark.parametrize(("added", "shown"), [("", 0), ("min_checkpoint_period: 3\n", 1)])
def test_a_test_is_not_warned_of_keys_that_it_has_set_itself(
    det: Det, master: FakeMaster, model: Path, added: str, shown: int
) -> None:
    keys = ("searcher.max_length", "min_checkpoint_period", "min_validation_period")
    warnings = [f"<config>.{key}: applies only to trial classes" for key in keys]
    master.sent_headers["X-Determined-Config-Warnings"] = json.dumps(warnings)
    (model / "c.yaml").write_text(CONFIG + added)
    said = det("e", "create", "c.yaml", ".", "-t").err
    assert said.count("Warning: ") == shown
