"""The master's settings (master-config 1 to 4, 6 to 10, 14)."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import msgspec
import pytest
from tests.certificates import Authority
from tests.covers import covers
from tests.master_settings import HOME, errors, read

from determined_master.domain.config.sections.storage import STORAGE
from determined_master.services.configs.defaults import config_layers
from determined_master.settings.join_token import read_join_token
from determined_master.settings.master import load

E = "scheduling-and-provisioning"
WIRE = Path(__file__).parents[1] / "data" / "wire.json"


def test_a_flag_wins_over_a_variable_over_the_file_over_the_default(tmp_path: Path) -> None:
    env = {**HOME, "DET_PORT": "9002", "DET_LOG_LEVEL": "debug", "DET_CLUSTER_NAME": "lab"}
    settings = read(tmp_path, "port: 9001\ntensorboard_timeout: 5\n", "--port", "9003", env=env)
    assert settings.port == 9003
    assert settings.log.level == "debug"
    assert settings.tensorboard_timeout == 5
    assert settings.launch_error is True


def test_settings_that_are_read_again_evaluate_no_annotation_again(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    read(tmp_path, "port: 9001")
    evaluated: list[type] = []
    monkeypatch.setattr(msgspec.structs, "fields", evaluated.append)
    assert read(tmp_path, "port: 9002").port == 9002
    assert evaluated == []


def test_an_empty_variable_is_none(tmp_path: Path) -> None:
    assert read(tmp_path, "port: 9001", env={**HOME, "DET_PORT": ""}).port == 9001


def test_flags_stand_before_or_after_the_command(tmp_path: Path) -> None:
    before = read(tmp_path, "", "--port", "9003", "backup", "/to")
    after = read(tmp_path, "", "backup", "/to", "--port", "9003")
    assert (before.command, before.directory, before.port) == ("backup", "/to", 9003)
    assert after == before


def test_the_command_is_run_unless_another_is_given(tmp_path: Path) -> None:
    assert read(tmp_path).command == "run"
    assert read(tmp_path, "", "migrate").command == "migrate"


@pytest.mark.parametrize("argv", [["version"], ["--version"]])
def test_the_version_needs_no_settings(argv: list[str]) -> None:
    assert load(argv, {"DET_PORT": "zip"}).command == "version"


@pytest.mark.parametrize("argv", [["--help"], ["help"]])
def test_help_lists_commands_flags_and_defaults(
    capsys: pytest.CaptureFixture[str], argv: list[str]
) -> None:
    with pytest.raises(SystemExit) as caught:
        load(argv, HOME)
    assert caught.value.code == 0
    told = capsys.readouterr().out
    for word in ("backup", "restore", "migrate", "--db-host", "--security-agent-join", "DET_"):
        assert word in told


@pytest.mark.parametrize(
    ("argv", "said"),
    [
        (["--hosst", "x"], "there is no option --hosst; did you mean --host"),
        (["backup", "/to", "--db-hosst=x"], "there is no option --db-hosst; did you mean"),
        (["rnu"], "invalid choice: 'rnu'"),
        (["rnu"], "did you mean run?"),
        (["backup"], "determined-master backup: error: the following arguments are required"),
    ],
)
def test_a_mistyped_word_is_named_with_what_was_meant(
    capsys: pytest.CaptureFixture[str], argv: list[str], said: str
) -> None:
    with pytest.raises(SystemExit) as caught:
        load(argv, HOME)
    assert caught.value.code == 2
    assert said in capsys.readouterr().err


def test_paths_follow_from_who_runs_the_master(tmp_path: Path) -> None:
    user = read(tmp_path, "cluster_name: lab")
    assert user.db.data_dir == "/home/ada/.local/share/determined/lab/postgres"
    assert str(user.data_dir) == "/home/ada/.local/share/determined/lab"
    assert user.cache.cache_dir == "/home/ada/.local/share/determined/lab/cache"

    moved = read(tmp_path, env={"XDG_DATA_HOME": "/d", "XDG_CACHE_HOME": "/c"})
    assert moved.db.data_dir == "/d/determined/determined/postgres"
    assert moved.cache.cache_dir == "/d/determined/determined/cache"

    root = read(tmp_path, is_root=True)
    assert root.db.data_dir == "/var/lib/determined/determined/postgres"
    assert root.cache.cache_dir == "/var/lib/determined/determined/cache"


def test_with_a_database_elsewhere_the_cache_is_that_of_the_user(tmp_path: Path) -> None:
    theirs = "db: {host: h, user: u, name: n}"
    moved = read(tmp_path, theirs, env={"XDG_CACHE_HOME": "/c"})
    assert moved.cache.cache_dir == "/c/determined"
    assert read(tmp_path, theirs).cache.cache_dir == "/home/ada/.cache/determined"
    assert read(tmp_path, theirs, is_root=True).cache.cache_dir == "/var/cache/determined"
    assert read(tmp_path, "cache: {cache_dir: /mine}").cache.cache_dir == "/mine"


def test_with_its_own_database_checkpoints_go_beside_it(tmp_path: Path) -> None:
    settings = read(tmp_path, "db: {data_dir: /data/lab/postgres}")
    assert settings.checkpoint_storage == {
        "type": "shared_fs",
        "host_path": "/data/lab/checkpoints",
        "create": True,
    }
    own = read(tmp_path, "checkpoint_storage: {type: gcs, bucket: b}")
    assert own.checkpoint_storage == {"type": "gcs", "bucket": "b"}
    other = read(tmp_path, "db: {host: h, user: u, name: n}")
    assert (other.checkpoint_storage, other.data_dir) == (None, None)


def test_only_a_master_that_this_machine_alone_reaches_allows_plain_processes(
    tmp_path: Path,
) -> None:
    near = read(tmp_path, "host: 127.0.0.1")
    assert (near.security.agent_join, near.security.allow_process_runtime) == ("token", True)
    closed = read(tmp_path)
    assert (closed.security.agent_join, closed.security.allow_process_runtime) == ("token", False)
    for host in ("", "host: 127.0.0.1\n"):
        text = f"{host}security: {{agent_join: open, allow_process_runtime: true}}"
        chosen = read(tmp_path, text)
        assert chosen.is_join_open
        assert any("agent_join" in warning for warning in chosen.warnings)


def test_a_join_token_of_the_admin_is_a_file_that_nobody_else_reads(tmp_path: Path) -> None:
    file = tmp_path / "join"
    text = f"security: {{agent_join_token_file: {file}}}"
    for content, mode, said in (
        (None, 0, "No such file"),
        ("x" * 40, 0o640, "other accounts can read"),
        ("x" * 31, 0o600, "at least 32 are needed"),
    ):
        if content is not None:
            file.write_text(content)
            file.chmod(mode)
        (problem,) = errors(tmp_path, text)
        assert said in problem
    file.write_text("x" * 32 + "\n")
    assert read(tmp_path, text).security.agent_join_token_file == str(file)
    assert read_join_token(str(file)) == "x" * 32


def test_the_port_follows_from_tls(tmp_path: Path) -> None:
    assert read(tmp_path).port == 8080
    pair = Authority(tmp_path).sign("master.example")
    text = f"security: {{tls: {{cert: {pair.cert}, key: {pair.key}}}}}"
    assert read(tmp_path, text).port == 8443


@covers(f"{E} e.1.older_names")
def test_older_names_are_read_as_what_they_mean(tmp_path: Path) -> None:
    settings = read(
        tmp_path,
        """
host: 127.0.0.1
resource_manager: {default_cpu_resource_pool: cpus, default_gpu_resource_pool: gpus, name: rm}
resource_pools:
  - {pool_name: cpus, max_cpu_containers_per_agent: 7}
  - pool_name: gpus
__internal: {preemption_timeout: 60}
""",
    )
    manager = settings.resource_manager
    assert manager.default_aux_resource_pool == "cpus"
    assert manager.default_compute_resource_pool == "gpus"
    assert manager.cluster_name == "rm"
    assert settings.resource_pools[0].max_aux_containers_per_agent == 7
    assert settings.task_container_defaults == {"preemption_timeout": 60}
    assert len(settings.warnings) == 3


@pytest.mark.parametrize(
    ("path", "text"),
    [
        ("integrations.pachyderm.address", "integrations: {pachyderm: {address: a}}"),
        ("security.authz._strict_ntsc_enabled", "security: {authz: {_strict_ntsc_enabled: true}}"),
    ],
)
def test_an_option_without_effect_is_reported(tmp_path: Path, path: str, text: str) -> None:
    (told,) = (w for w in read(tmp_path, text).warnings if "no effect" in w)
    assert told == f"root.{path}: has no effect in this version: remove it"
    assert not any("no effect" in warning for warning in read(tmp_path).warnings)


@pytest.mark.parametrize(
    ("text", "path", "remedy"),
    [
        ("logging: {type: elastic, host: h, port: 1}", "logging.type", "remove the section"),
        (
            "resource_manager: {no_default_resource_pools: true}",
            "resource_manager.no_default_resource_pools",
            "name the default pools",
        ),
        (
            "__internal: {audit_logging_enabled: true}",
            "__internal.audit_logging_enabled",
            "admins see it in the web UI",
        ),
        (
            "__internal: {proxied_servers: [{path_prefix: /x, destination: 'http://x'}]}",
            "__internal.proxied_servers",
            "a reverse proxy before the master",
        ),
    ],
)
def test_a_missing_feature_that_is_safe_to_ignore_is_a_warning_with_the_remedy(
    tmp_path: Path, text: str, path: str, remedy: str
) -> None:
    (warning,) = (w for w in read(tmp_path, text).warnings if "no effect" in w)
    assert warning.startswith(f"root.{path}: ")
    assert remedy in warning


def test_keys_are_read_in_any_case(tmp_path: Path) -> None:
    assert read(tmp_path, "DB: {Host: h, user: u, NAME: n}").db.host == "h"


def test_words_are_booleans(tmp_path: Path) -> None:
    assert read(tmp_path, "launch_error: no").launch_error is False
    assert read(tmp_path, "", "--enable-cors").enable_cors is True
    assert read(tmp_path, "", env={**HOME, "DET_LAUNCH_ERROR": "0"}).launch_error is False


@covers(f"{E} e.1.defaults e.1.one")
def test_without_pools_there_is_one_foreverything(tmp_path: Path) -> None:
    settings = read(tmp_path)
    assert [pool.pool_name for pool in settings.resource_pools] == ["default"]
    manager = settings.resource_manager
    assert manager.default_compute_resource_pool == "default"
    assert manager.default_aux_resource_pool == "default"
    chosen = "{default_compute_resource_pool: a, default_aux_resource_pool: b}"
    text = f"resource_manager: {chosen}\nresource_pools: [{{pool_name: a}}, {{pool_name: b}}]"
    layers = config_layers(read(tmp_path, text), None)
    assert (layers.default_compute_pool, layers.default_aux_pool) == ("a", "b")


@covers(f"{E} e.1.switched_off")
def test_default_pools_cannot_be_switched_off(tmp_path: Path) -> None:
    settings = read(tmp_path, "resource_manager: {no_default_resource_pools: true}")
    assert config_layers(settings, None).default_compute_pool == "default"
    [said] = errors(tmp_path, 'resource_manager: {default_aux_resource_pool: ""}')
    assert said.endswith('there is no pool ""; pools: default')


@covers("scheduling-and-provisioning a.4.shown")
def test_several_pools_reach_the_configuration_of_experiments(tmp_path: Path) -> None:
    settings = read(
        tmp_path,
        """
resource_manager: {default_compute_resource_pool: gpus, scheduler: {default_priority: 50}}
resource_pools:
  - {pool_name: default, agent_reconnect_wait: 1m30s}
  - {pool_name: gpus, scheduler: {default_priority: 7}, task_container_defaults: {image: x}}
""",
    )
    assert settings.resource_pools[0].agent_reconnect_wait_s == 90
    layers = config_layers(settings, None)
    assert layers.default_compute_pool == "gpus"
    assert {n: p.default_priority for n, p in layers.pools.items()} == {"default": 50, "gpus": 7}
    assert layers.pools["gpus"].task_container_defaults["image"]["cuda"] == "x"


def test_answers_have_the_observed_names(tmp_path: Path) -> None:
    """Sample master.config of wire.json, and options of ours beside it."""
    samples = json.loads(WIRE.read_text())
    seen = next(s for s in samples if s["id"] == "master.config")["response"]["config"]
    settings = read(tmp_path, "checkpoint_storage: {type: shared_fs, host_path: /s}")
    shown = json.loads(json.dumps(settings.masked()))

    def names(value: Any, path: str = "") -> set[str]:
        if isinstance(value, dict):
            return {p for k, v in value.items() for p in names(v, f"{path}.{k}")} | {path}
        return {path}

    security = {"agent_join", "agent_join_token_file", "agent_networks", "allow_process_runtime"}
    ours = {".host", ".db.data_dir", *(f".security.{name}" for name in security)}
    ours |= {".security.trusted_proxies", ".wheelhouse"}
    ours |= {f".user_storage{name}" for name in ("", ".warning_gib", ".max_gib")}
    newer = {
        ".resource_manager.scheduler.default_priority",
        ".resource_manager.scheduler.preemption",
        ".resource_manager.scheduler.gang_patience",
        ".resource_manager.scheduler.queue_name",
        ".resource_manager.scheduler.priority_class",
        ".resource_manager.verify_agent_ids",
        *(".proxy", ".proxy.address", ".proxy.port", ".webhooks.allowed_networks"),
    }
    inside = {n for n in names(shown) if n.startswith((".__internal.", ".oidc.", ".saml."))}
    inside |= {n for n in names(shown) if n.startswith((".det_cloud.", ".config_limits"))}
    # Always 0 in 0.38.1; a file of settings with them is read.
    empty = {f".security.default_task.{name}" for name in ("id", "user_id")}
    assert names(shown) - inside - ours - newer == names(seen) - empty


def test_no_secret_is_shown(tmp_path: Path) -> None:
    text = """
db: {host: h, user: u, name: n, password: PSWD}
security: {initial_user_password: PSWD}
telemetry: {segment_master_key: PSWD, segment_webui_key: PSWD}
checkpoint_storage: {type: s3, bucket: b, access_key: PSWD, secret_key: PSWD}
task_container_defaults: {registry_auth: {username: u, password: PSWD}}
resource_pools:
  - pool_name: default
    task_container_defaults: {registry_auth: {identitytoken: PSWD}}
"""
    shown = json.dumps(read(tmp_path, text).masked())
    assert "PSWD" not in shown
    assert shown.count("********") == 8


@pytest.mark.parametrize("kind", STORAGE.variants)
def test_no_secret_of_any_storage_is_shown(tmp_path: Path, kind: str) -> None:
    variant = STORAGE.variants[kind]
    required = {k: "/x" for k, f in variant.fields.items() if f.is_required and k != "type"}
    storage = {"type": kind, **required}
    if kind == "azure":
        storage |= {"account_url": "https://a", "credential": "PSWD"}
    settings = read(tmp_path, json.dumps({"checkpoint_storage": storage}))
    assert "PSWD" not in json.dumps(settings.masked())
