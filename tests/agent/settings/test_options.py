"""The agent's settings (agent-config 1, 2)."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from tests.covers import covers
from tests.settings_file import SettingsFile

from determined_agent.settings import command_line, sources
from determined_agent.settings import options as module
from determined_agent.settings.options import REFUSED, Settings, load
from determined_wire.settings_reader import SettingsError

ENV = {"HOME": "/home/ada", "DET_MASTER_HOST": "m"}
FILE = SettingsFile("agent.yaml", load, SettingsError, ENV)
errors = FILE.errors


def read(tmp_path: Path, text: str = "", *argv: str, **given: Any) -> Settings:
    return FILE.read(tmp_path, text, *argv, **given).settings


def warnings(tmp_path: Path, text: str) -> tuple[str, ...]:
    return FILE.read(tmp_path, text).warnings


@covers("agent-config 1.precedence 1.flags 1.variables")
def test_a_flag_wins_over_a_variable_over_the_file_over_the_default(tmp_path: Path) -> None:
    env = {**ENV, "DET_AGENT_ID": "variable", "DET_SLOT_TYPE": "none", "DET_RESOURCE_POOL": ""}
    text = "agent_id: file\nslot_type: cpu\nresource_pool: gpus\nlog: {level: warn}\n"
    settings = read(tmp_path, text, "--agent-id", "flag", env=env)
    assert settings.agent_id == "flag"
    assert settings.slot_type == "none"
    assert settings.resource_pool == "gpus"
    assert settings.log.level == "warn"
    assert settings.container_runtime == "docker"


@covers("agent-config 2.master_port")
@pytest.mark.parametrize(("text", "port"), [("", 80), ("security: {tls: {enabled: true}}", 443)])
def test_the_masters_port_follows_from_tls(tmp_path: Path, text: str, port: int) -> None:
    assert read(tmp_path, text).master_port == port


@covers("scheduling-and-provisioning d.5.id")
@covers("agent-config 2.agent_id 2.visible_gpus")
def test_defaults_come_from_the_machine(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module.socket, "gethostname", lambda: "gpu-7")
    settings = read(tmp_path, env={**ENV, "CUDA_VISIBLE_DEVICES": "0,2"})
    assert settings.agent_id == "gpu-7"
    assert settings.visible_gpus == "0,2"
    assert settings.agent_reconnect_attempts is None
    both = {**ENV, "CUDA_VISIBLE_DEVICES": "0", "ROCR_VISIBLE_DEVICES": "1"}
    assert read(tmp_path, env=both).visible_gpus == "1"
    both["ROCR_VISIBLE_DEVICES"] = ""  # defined, so it counts
    assert read(tmp_path, env=both).visible_gpus == ""


@covers("agent-config 1.order")
def test_derived_options_are_set_after_all_sources_are_merged(tmp_path: Path) -> None:
    env = {**ENV, "DET_SECURITY_TLS_ENABLED": "true"}
    text = "security: {tls: {enabled: false}}\ncontainer_master_host: inner\n"
    settings = read(tmp_path, text, env=env)
    assert (settings.master_port, settings.container_master_host) == (443, "inner")
    assert (settings.slot_type, settings.resource_pool) == ("auto", "default")


@covers("agent-config 2.resource_pool 4.empty_pool")
def test_an_empty_pool_is_the_default_one(tmp_path: Path) -> None:
    assert read(tmp_path, "resource_pool: ''").resource_pool == "default"
    assert read(tmp_path).resource_pool == "default"


def test_the_default_work_dir_depends_on_the_user(tmp_path: Path) -> None:
    assert read(tmp_path).work_dir == "/home/ada/.local/share/determined/agent"
    assert read(tmp_path, env={**ENV, "XDG_DATA_HOME": "/d"}).work_dir == "/d/determined/agent"
    assert read(tmp_path, is_root=True).work_dir == "/var/lib/determined/agent"
    assert read(tmp_path, "work_dir: /w", is_root=True).work_dir == "/w"


@covers("agent-config 1.flags 1.variables")
def test_nested_options_have_flags_and_variables(tmp_path: Path) -> None:
    env = {**ENV, "DET_SECURITY_TLS_ENABLED": "yes", "DET_AGENT_RECONNECT_ATTEMPTS": "3"}
    settings = read(tmp_path, "", "--security-tls-master-cert", "/c", env=env)
    assert settings.security.tls.enabled
    assert settings.security.tls.master_cert == "/c"
    assert settings.agent_reconnect_attempts == 3


def test_the_hook_is_a_list_in_the_file(tmp_path: Path) -> None:
    settings = read(tmp_path, "hooks: {on_connection_lost: [shutdown, now]}")
    assert settings.hooks.on_connection_lost == ("shutdown", "now")


@covers("agent-config 2.debug")
def test_debug_sets_the_log_level(tmp_path: Path) -> None:
    assert read(tmp_path, "", "--debug").log.level == "debug"


@covers("agent-config 2.log.level 2.log.color")
def test_the_log_has_a_short_flag_and_variables(tmp_path: Path) -> None:
    assert read(tmp_path, "", "-l", "warn").log.level == "warn"
    env = {**ENV, "DET_LOG_LEVEL": "trace", "DET_LOG_COLOR": "false"}
    log = read(tmp_path, "", env=env).log
    assert (log.level, log.color) == ("trace", False)
    assert read(tmp_path).log.color


@covers("agent-config 2.config_file")
def test_the_file_is_named_by_a_variable_or_a_flag(tmp_path: Path) -> None:
    for name in ("one", "two"):
        (tmp_path / name).write_text(f"agent_id: {name}")
    env = {**ENV, "DET_CONFIG_FILE": str(tmp_path / "one")}
    assert load([], env).settings.agent_id == "one"
    flag = ["--config-file", str(tmp_path / "two")]
    assert load(flag, env).settings.agent_id == "two"


@covers("agent-config 1.file 1.file_missing")
def test_the_default_file_is_read_and_may_be_missing(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert command_line.DEFAULT_FILE == "/etc/determined/agent.yaml"
    usual = tmp_path / "agent.yaml"
    monkeypatch.setattr(sources, "DEFAULT_FILE", str(usual))
    assert load([], ENV).settings.slot_type == "auto"
    usual.write_text("slot_type: none")
    assert load([], ENV).settings.slot_type == "none"


@covers("agent-config 2.fluent")
def test_ignored_options_cause_a_warning(tmp_path: Path) -> None:
    text = "fluent: {image: i, port: 1, container_name: c}"
    [warning] = warnings(tmp_path, text)
    assert warning.startswith("fluent has no effect: ")
    assert warning.endswith("remove the section")
    assert warnings(tmp_path, "") == ()


def test_tls_options_without_tls_cause_a_warning(tmp_path: Path) -> None:
    [warning] = warnings(tmp_path, "security: {tls: {master_cert: c}}")
    assert warning == (
        "security.tls.master_cert has no effect: the agent connects without TLS; set "
        "security.tls.enabled"
    )
    assert warnings(tmp_path, "security: {tls: {master_cert: c, enabled: true}}") == ()


@covers("agent-config 2.tls.client")
def test_the_client_certificate_is_two_files(tmp_path: Path) -> None:
    text = "security: {tls: {enabled: true, client_cert: c, client_key: k}}"
    tls = read(tmp_path, text).security.tls
    assert (tls.client_cert, tls.client_key) == ("c", "k")


@covers("agent-config 2.api_enabled 2.bind_ip 2.bind_port 2.tls_cert")
def test_the_debug_server_needs_both_files_for_tls(tmp_path: Path) -> None:
    settings = read(tmp_path, "api_enabled: true\nbind_ip: 0.0.0.0\n")
    assert (settings.api_enabled, settings.bind_ip, settings.bind_port) == (True, "0.0.0.0", 9090)
    assert errors(tmp_path, "api_enabled: true\ntls: true\ntls_cert: c\n") == [
        "root.tls_key: is required when api_enabled and tls are set"
    ]
    assert read(tmp_path, "tls: true").tls  # without the server they are not needed


@covers("agent-config 2.container_auto_remove_disabled")
@pytest.mark.parametrize("runtime", ["process", "apptainer"])
def test_only_docker_and_podman_can_keep_ended_containers(tmp_path: Path, runtime: str) -> None:
    keep = "container_auto_remove_disabled: true"
    assert read(tmp_path, keep).container_auto_remove_disabled
    [found] = errors(tmp_path, f"{keep}\ncontainer_runtime: {runtime}")
    assert found == (
        "root.container_auto_remove_disabled: is for docker and podman: "
        f"{runtime} keeps no ended containers; remove it"
    )


@covers("agent-config 1.unknown 2.container_runtime 2.master_host 2.tls.skip_verify 2.log.level")
def test_every_error_is_reported_with_its_path_and_source(tmp_path: Path) -> None:
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


@covers("agent-config 1.unknown 2.label 2.image_root 2.config_file")
@pytest.mark.parametrize("name", REFUSED)
def test_refused_options_name_the_reason(tmp_path: Path, name: str) -> None:
    assert errors(tmp_path, f"{name}: 1") == [f"root.{name}: {REFUSED[name]}"]


@covers("agent-config 1.unknown")
def test_an_unknown_option_is_refused_with_the_remedy(tmp_path: Path) -> None:
    assert errors(tmp_path, "zzz: 1\nsecurity: {tls: {enabeld: true}}") == [
        "root.security.tls.enabeld: unknown option; did you mean enabled?",
        "root.zzz: unknown option; remove it, or see --help for all options",
    ]


@covers("agent-config 2.slot_type")
def test_slot_type_is_one_of_the_known_types(tmp_path: Path) -> None:
    for known in ("auto", "cuda", "gpu", "rocm", "cpu", "none"):
        assert read(tmp_path, f"slot_type: {known}").slot_type == known
    assert errors(tmp_path, "slot_type: tpu") == [
        "root.slot_type: must be one of auto, cuda, gpu, rocm, cpu, none but found 'tpu'"
    ]


@pytest.mark.parametrize(
    ("text", "path"),
    [
        ("join_token: a\njoin_token_file: /f", "root.join_token"),
        ("agent_id: a/b", "root.agent_id"),
        ("security: {tls: {client_key: k}}", "root.security.tls"),
        ("log: debug", "root.log"),
        ("apptainer_image_root: /images", "root.apptainer_image_root"),
        ("container_runtime: apptainer\napptainer_image_root: a", "root.apptainer_image_root"),
        ("master_port: 70000", "root.master_port"),
    ],
)
def test_an_error_names_its_path(tmp_path: Path, text: str, path: str) -> None:
    [found] = errors(tmp_path, text)
    assert found.startswith(f"{path}: ")


def test_a_bad_token_is_not_shown(tmp_path: Path) -> None:
    [found] = errors(tmp_path, "join_token: [SECRET]")
    assert "SECRET" not in found
    assert read(tmp_path, "join_token: SECRET").masked()["join_token"] == "********"


def test_proxies_are_shown_without_credentials(tmp_path: Path) -> None:
    text = "http_proxy: http://ada:SECRET@proxy:80\nhttps_proxy: ada:SECRET@proxy\nno_proxy: a,b"
    settings = read(tmp_path, text)
    shown = settings.masked()
    assert settings.http_proxy == "http://ada:SECRET@proxy:80"
    assert shown["http_proxy"] == "http://********@proxy:80"
    assert shown["https_proxy"] == "********@proxy"
    assert shown["no_proxy"] == "a,b"


@pytest.mark.parametrize(
    ("argv", "expected"),
    [
        (["--mastr-host", "x"], "there is no option --mastr-host; did you mean --master-host"),
        (["--mastr-host=x"], "there is no option --mastr-host; did you mean --master-host"),
        (["rnu"], "did you mean run?"),
    ],
)
def test_a_mistyped_word_is_named_with_a_suggestion(
    capsys: pytest.CaptureFixture[str], argv: list[str], expected: str
) -> None:
    with pytest.raises(SystemExit) as caught:
        load(argv, {})
    assert caught.value.code == 2
    assert expected in capsys.readouterr().err


@covers("agent-config 1.file_missing")
def test_an_explicit_file_must_exist() -> None:
    with pytest.raises(SettingsError, match=r"file /nope/agent\.yaml does not exist"):
        load(["--config-file", "/nope/agent.yaml"], ENV)


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("a: [1\n", "line 2: expected ',' or ']', but got '<stream end>'"),
        ("- a", "must hold a map of options"),
        ("join_token: one\njoin_token: two\n", 'line 2: found duplicate key "join_token"'),
    ],
)
def test_a_file_that_is_not_a_map_is_reported_on_one_line(
    tmp_path: Path, text: str, expected: str
) -> None:
    with pytest.raises(SettingsError) as caught:
        read(tmp_path, text)
    text_of_error = str(caught.value)
    assert text_of_error.startswith(f"configuration file {tmp_path / 'agent.yaml'}")
    assert text_of_error.endswith(expected)
    assert "\n" not in text_of_error


def test_an_unreadable_file_is_reported_with_the_reason(tmp_path: Path) -> None:
    (tmp_path / "latin").write_bytes(b"agent_id: \xe4")
    for name, expected in (
        ("latin", ": byte 11 is not UTF-8 text: save"),
        ("", " cannot be read: Is"),
    ):
        with pytest.raises(SettingsError) as caught:
            load(["--config-file", str(tmp_path / name)], ENV)
        assert str(caught.value).startswith(f"configuration file {tmp_path / name}{expected}")


@covers("agent-config 1.subcommands")
@pytest.mark.parametrize("argv", [["version"], ["--version"], ["--help"], ["help"]])
def test_version_and_help_need_no_settings(
    argv: list[str], capsys: pytest.CaptureFixture[str]
) -> None:
    with pytest.raises(SystemExit) as caught:
        load(argv, {})
    assert caught.value.code == 0
    assert "determined-agent" in capsys.readouterr().out
