"""`--publish`: the declared ports, and refusals before any request."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from tests.cli import canned_tasks
from tests.cli.conftest import Det
from tests.cli.fake_master import FakeMaster

from determined.cli import errors, publish
from determined.cli.publish import PublishedPort
from determined.common import config_text

ENDED = canned_tasks.allocation("TERMINATED", statusCode=0)
CONFIG = "name: x\nentrypoint: go\n"


def declared(config: str, *ports: str) -> Any:
    text = publish.with_ports(config, publish.parse(ports))
    return config_text.load(text, "c")["environment"]["proxy_ports"]


def test_the_local_port_defaults_to_the_remote_one() -> None:
    assert publish.parse(["80", "8080:81", "0:82"]) == [
        PublishedPort(80, 80),
        PublishedPort(8080, 81),
        PublishedPort(0, 82),
    ]


@pytest.mark.parametrize(
    "text", ["", "a", "80:", ":80", "1:2:3", "-1", "0", "80:0", "1:65536", "9" * 5000]
)
def test_an_invalid_port_is_refused(text: str) -> None:
    with pytest.raises(errors.CliError, match="--publish"):
        publish.parse([text])


@pytest.mark.parametrize("texts", [("80", "81:80"), ("80:1", "80:2")])
def test_a_duplicate_port_is_refused(texts: tuple[str, ...]) -> None:
    with pytest.raises(errors.CliError, match="80 twice"):
        publish.parse(texts)


def test_several_ports_may_use_any_free_port() -> None:
    assert len(publish.parse(["0:1", "0:2"])) == 2


def test_published_ports_are_added_to_the_proxy_ports() -> None:
    assert declared(CONFIG, "80") == [{"proxy_port": 80, "proxy_tcp": True}]
    more = (
        CONFIG + "environment: {proxy_ports: [{proxy_port: 1}, {proxy_port: 80, proxy_tcp: true}]}"
    )
    assert declared(more, "80", "81") == [
        {"proxy_port": 1},
        {"proxy_port": 80, "proxy_tcp": True},
        {"proxy_port": 81, "proxy_tcp": True},
    ]


def test_a_config_without_published_ports_is_unchanged() -> None:
    assert publish.with_ports("# kept\na:   1\n", []) == "# kept\na:   1\n"


def test_a_port_that_is_declared_as_http_cannot_be_published() -> None:
    with pytest.raises(errors.CliError, match="port 80 is in"):
        declared(CONFIG + "environment: {proxy_ports: [{proxy_port: 80}]}", "80")


@pytest.mark.parametrize("kind", ["command", "notebook"])
def test_an_interactive_task_publishes_ports_while_its_log_is_followed(
    det: Det, master: FakeMaster, kind: str
) -> None:
    canned_tasks.serve(master, kind, canned_tasks.READY, ENDED)
    words = {"command": ("cmd", "run"), "notebook": ("notebook", "start", "--no-browser")}[kind]
    config = ("--config", "environment.proxy_ports=[{proxy_port: 1}]")
    program = ("true",) if kind == "command" else ()
    outcome = det(*words, "-p", "0:80", *config, *program)
    assert (outcome.status, outcome.err) == (0, "")
    (call,) = master.made("POST", f"/api/v1/{kind}s")
    declared = [{"proxy_port": 1}, {"proxy_port": 80, "proxy_tcp": True}]
    assert call.json["config"]["environment"] == {"proxy_ports": declared}
    told = outcome.out.index("Port 80 of the task is available at 127.0.0.1:")
    assert told < outcome.out.index("INFO: first")


def test_ports_of_a_paused_experiment_are_refused(
    det: Det, master: FakeMaster, tmp_path: Path
) -> None:
    (tmp_path / "c.yaml").write_text(CONFIG)
    outcome = det("e", "create", str(tmp_path / "c.yaml"), "--paused", "-p", "80")
    assert "--paused does not start it: leave one of them out" in outcome.err
    assert master.calls == []


def test_published_ports_of_a_detached_task_are_refused(det: Det, master: FakeMaster) -> None:
    outcome = det("notebook", "start", "-d", "-p", "80")
    assert "--detach ends it at once: leave one of them out" in outcome.err
    assert master.calls == []
