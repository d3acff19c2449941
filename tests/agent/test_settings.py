"""The agent's settings (agent-config 1, 2)."""

from __future__ import annotations

import socket
from collections.abc import Mapping
from pathlib import Path

import pytest
from tests.covers import covers

from determined_agent.settings import NOT_HERE, Settings, SettingsError, load

ENV = {"HOME": "/home/ada", "DET_MASTER_HOST": "m"}


def read(
    tmp_path: Path,
    text: str = "",
    *argv: str,
    env: Mapping[str, str] = ENV,
    is_root: bool = False,
) -> Settings:
    file = tmp_path / "agent.yaml"
    file.write_text(text)
    return load(["--config-file", str(file), *argv], env, is_root=is_root)


def errors(tmp_path: Path, text: str, *argv: str, env: Mapping[str, str] = ENV) -> list[str]:
    with pytest.raises(SettingsError) as caught:
        read(tmp_path, text, *argv, env=env)
    head, *lines = str(caught.value).split("\n")
    assert head == f"Check Failed! {len(lines)} errors found:"
    return [line.strip() for line in lines]


def test_a_flag_wins_over_a_variable_over_the_file_over_the_default(tmp_path: Path) -> None:
    env = {**ENV, "DET_AGENT_ID": "variable", "DET_SLOT_TYPE": "none", "DET_RESOURCE_POOL": ""}
    text = "agent_id: file\nslot_type: cpu\nresource_pool: gpus\nlog: {level: warn}\n"
    settings = read(tmp_path, text, "--agent-id", "flag", env=env)
    assert settings.agent_id == "flag"
    assert settings.slot_type == "none"
    assert settings.resource_pool == "gpus"
    assert settings.log.level == "warn"
    assert settings.container_runtime == "docker"


@pytest.mark.parametrize(("text", "port"), [("", 80), ("security: {tls: {enabled: true}}", 443)])
def test_the_masters_port_follows_from_tls(tmp_path: Path, text: str, port: int) -> None:
    assert read(tmp_path, text).master_port == port


@covers("scheduling-and-provisioning d.5.id")
def test_defaults_come_from_the_machine(tmp_path: Path) -> None:
    settings = read(tmp_path, env={**ENV, "CUDA_VISIBLE_DEVICES": "0,2"})
    assert settings.agent_id == socket.gethostname()
    assert settings.visible_gpus == "0,2"
    assert settings.agent_reconnect_attempts is None
    both = {**ENV, "CUDA_VISIBLE_DEVICES": "0", "ROCR_VISIBLE_DEVICES": "1"}
    assert read(tmp_path, env=both).visible_gpus == "1"


def test_tasks_directories_follow_from_who_runs_the_agent(tmp_path: Path) -> None:
    assert read(tmp_path).work_dir == "/home/ada/.local/share/determined/agent"
    assert read(tmp_path, env={**ENV, "XDG_DATA_HOME": "/d"}).work_dir == "/d/determined/agent"
    assert read(tmp_path, is_root=True).work_dir == "/var/lib/determined/agent"
    assert read(tmp_path, "work_dir: /w", is_root=True).work_dir == "/w"


def test_nested_options_have_flags_and_variables(tmp_path: Path) -> None:
    env = {**ENV, "DET_SECURITY_TLS_ENABLED": "yes", "DET_AGENT_RECONNECT_ATTEMPTS": "3"}
    settings = read(tmp_path, "", "--security-tls-master-cert", "/c", env=env)
    assert settings.security.tls.enabled
    assert settings.security.tls.master_cert == "/c"
    assert settings.agent_reconnect_attempts == 3


def test_the_hook_is_a_list_of_the_file(tmp_path: Path) -> None:
    settings = read(tmp_path, "hooks: {on_connection_lost: [shutdown, now]}")
    assert settings.hooks.on_connection_lost == ("shutdown", "now")


def test_debug_is_a_level_of_the_log(tmp_path: Path) -> None:
    assert read(tmp_path, "", "--debug").log.level == "debug"


def test_every_error_is_told_with_its_path_and_source(tmp_path: Path) -> None:
    text = (
        "slot_typ: cpu\nlog: {level: loud}\nsecurity: {tls: {skip_verify: true, master_cert: c}}"
    )
    env = {"HOME": "/h", "DET_ARTIFICIAL_SLOTS": "-1"}
    assert errors(tmp_path, text, "--container-runtime", "singularity", env=env) == [
        "root.artificial_slots: expected `int` >= 0 but found '-1' (from DET_ARTIFICIAL_SLOTS)",
        "root.container_runtime: must be one of docker, podman, apptainer, process but found "
        "'singularity' (from --container-runtime)",
        "root.log.level: must be one of trace, debug, info, warn, error, fatal but found 'loud'",
        "root.master_host: is required: set it to the host of the master",
        "root.security.tls: skip_verify and master_cert must not both be set",
        "root.slot_typ: unknown option; did you mean slot_type?",
    ]


@pytest.mark.parametrize("name", NOT_HERE)
def test_options_that_mean_nothing_here_are_refused_with_the_reason(
    tmp_path: Path, name: str
) -> None:
    assert errors(tmp_path, f"{name}: 1") == [f"root.{name}: {NOT_HERE[name]}"]


@pytest.mark.parametrize(
    ("text", "path"),
    [
        ("join_token: a\njoin_token_file: /f", "root.join_token"),
        ("agent_id: a/b", "root.agent_id"),
        ("security: {tls: {client_key: k}}", "root.security.tls"),
        ("log: debug", "root.log"),
        ("master_port: 70000", "root.master_port"),
    ],
)
def test_a_mistake_is_refused_with_its_path(tmp_path: Path, text: str, path: str) -> None:
    [found] = errors(tmp_path, text)
    assert found.startswith(f"{path}: ")


def test_a_bad_token_is_not_shown(tmp_path: Path) -> None:
    [found] = errors(tmp_path, "join_token: [SECRET]")
    assert "SECRET" not in found
    assert read(tmp_path, "join_token: SECRET").masked()["join_token"] == "********"


def test_a_file_that_was_named_must_be_there() -> None:
    with pytest.raises(SettingsError, match=r"file /nope/agent\.yaml does not exist"):
        load(["--config-file", "/nope/agent.yaml"], ENV)


@pytest.mark.parametrize("text", ["a: [", "- a"])
def test_a_file_that_is_no_map_is_named(tmp_path: Path, text: str) -> None:
    with pytest.raises(SettingsError, match=r"configuration file .*agent\.yaml"):
        read(tmp_path, text)


@pytest.mark.parametrize("argv", [["version"], ["--version"], ["--help"]])
def test_version_and_help_need_no_settings(
    argv: list[str], capsys: pytest.CaptureFixture[str]
) -> None:
    with pytest.raises(SystemExit) as caught:
        load(argv, {})
    assert caught.value.code == 0
    assert "determined-agent" in capsys.readouterr().out
