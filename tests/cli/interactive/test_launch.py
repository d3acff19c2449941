"""Starting interactive tasks: the request, and refusals before any request."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from tests.cli import canned_tasks
from tests.cli.canned_tasks import ID
from tests.cli.conftest import Det
from tests.cli.fake_master import FakeMaster

START = {
    "command": ("cmd", "run", "-d"),
    "notebook": ("notebook", "start", "-d"),
    "shell": ("shell", "start", "-d"),
    "tensorboard": ("tensorboard", "start", "-d", "7"),
}
FILE = """\
# a user's config
description: mine
resources: {slots: 2}
bind_mounts: [{host_path: /a, container_path: /b}]
"""
Sent = Callable[..., Any]


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The current directory, with a config, a context directory and a file."""
    (tmp_path / "c.yaml").write_text(FILE)
    (tmp_path / "program").mkdir()
    (tmp_path / "program" / "go.py").write_text("pass\n")
    (tmp_path / "extra.txt").write_text("more")
    monkeypatch.chdir(tmp_path)
    return tmp_path


@pytest.fixture
def sent(det: Det, master: FakeMaster, folder: Path) -> Sent:
    """The request body for a command line."""

    def send(kind: str, *words: str) -> Any:
        canned_tasks.serve(master, kind)
        outcome = det(*START[kind], *words)
        assert (outcome.status, outcome.err, outcome.out) == (0, "", f"{ID}\n")
        return master.made("POST", f"/api/v1/{kind}s")[-1].json

    return send


@pytest.mark.parametrize("kind", START)
def test_the_request_combines_config_file_options_and_files(sent: Sent, kind: str) -> None:
    options = ("--config-file", "c.yaml", "--config", "resources.slots=4", "-w", "lab")
    tail = ("--", "python3", "go.py", "-x") if kind == "command" else ()
    body = sent(kind, *options, "-c", "program", "-i", "extra.txt", *tail)
    assert canned_tasks.files_of(body) == {"go.py": b"pass\n", "extra.txt": b"more"}
    assert body["workspaceId"] == 3
    config = body["config"]
    assert config.pop("entrypoint", None) == (["python3", "go.py", "-x"] if tail else None)
    assert config == {
        "description": "mine",
        "resources": {"slots": 4},
        "bind_mounts": [{"host_path": "/a", "container_path": "/b"}],
    }


@pytest.mark.parametrize("kind", ["command", "notebook", "shell"])
def test_volumes_and_a_template_are_sent(sent: Sent, kind: str) -> None:
    options = ("--config-file", "c.yaml", "-v", "/data:/d", "-v", "/x:/y", "--template", "t")
    body = sent(kind, *options, *(["true"] if kind == "command" else []))
    assert body["templateName"] == "t"
    assert body["config"]["bind_mounts"] == [
        {"host_path": "/a", "container_path": "/b"},
        {"host_path": "/data", "container_path": "/d"},
        {"host_path": "/x", "container_path": "/y"},
    ]


def test_a_tensorboard_takes_a_template(sent: Sent) -> None:
    assert sent("tensorboard", "--template", "t")["templateName"] == "t"


def test_a_request_omits_options_that_are_not_given(sent: Sent) -> None:
    empty: dict[str, Any] = {"config": {}, "files": [], "workspaceId": None}
    assert sent("shell") == empty
    assert sent("notebook") == {**empty, "preview": False}
    assert sent("tensorboard", "8", "-t", "11", "12") == {
        **empty,
        "experimentIds": [7, 8],
        "trialIds": [11, 12],
    }


def test_options_after_the_program_belong_to_it(sent: Sent) -> None:
    body = sent("command", "--config", "resources.slots=0", "ls", "-d", "--config", "--all")
    assert body["config"]["entrypoint"] == ["ls", "-d", "--config", "--all"]
    assert body["config"]["resources"] == {"slots": 0}


@pytest.mark.parametrize(
    ("words", "told"),
    [
        (("cmd", "run"), "Failed to run command: nothing to run"),
        (("tensorboard", "start"), "Failed to start TensorBoard: nothing to show"),
        (("notebook", "start", "-v", "/data"), "--volume '/data' must have the form"),
        (("notebook", "start", "-v", "/data:/d:ro"), "must have the form"),
        (("notebook", "start", "--config", "slots"), "is not of the form key=value"),
        (("notebook", "start", "--config-file", "none"), "No such file"),
        (("shell", "start", "-c", "nowhere"), "'nowhere' does not exist"),
        (
            ("shell", "start", "--config", "bind_mounts={a: 1}", "--config", "bind_mounts.b=2"),
            "'bind_mounts' holds a value",
        ),
    ],
)
def test_invalid_arguments_are_refused_before_any_request(
    det: Det, master: FakeMaster, folder: Path, words: tuple[str, ...], told: str
) -> None:
    outcome = det(*words)
    assert outcome.status == 1
    assert told in outcome.err
    assert master.calls == []


def test_the_error_for_an_unknown_workspace_lists_the_known_ones(
    det: Det, master: FakeMaster
) -> None:
    canned_tasks.serve(master, "shell")
    outcome = det("shell", "start", "-d", "-w", "nope")
    assert "there is no workspace 'nope'; there are: 'Uncategorized', 'lab'" in outcome.err
    assert master.made("POST", "/api/v1/shells") == []


def test_a_warning_of_the_master_is_printed(det: Det, master: FakeMaster) -> None:
    canned_tasks.serve(master, "shell")
    warnings = ["LAUNCH_WARNING_CURRENT_SLOTS_EXCEEDED"]
    answer = {"shell": canned_tasks.task("shell"), "config": {}, "warnings": warnings}
    master.routes["POST", "/api/v1/shells"] = (200, answer)
    assert "the shell waits until enough agents join" in det("shell", "start", "-d").err


def test_a_preview_prints_the_config_and_starts_nothing(det: Det, master: FakeMaster) -> None:
    canned_tasks.serve(master, "notebook")
    outcome = det("notebook", "start", "--preview")
    assert outcome.out == "description: d\nresources:\n  slots: 1\n"
    (call,) = master.made("POST", "/api/v1/notebooks")
    assert call.json["preview"] is True
