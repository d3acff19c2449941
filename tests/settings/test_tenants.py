"""`determined-master check --tenants` names every setting that is open."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from msgspec.structs import replace
from tests.certificates import Authority
from tests.master_settings import HOME, read

from determined_master.settings.master import Settings, load
from determined_master.settings.tenants import open_settings, tenants_report

CLOSED = """\
security:
  authz: {{type: rbac, strict_job_queue_control: true}}
  tls: {{cert: {cert}, key: {key}}}
  allow_process_runtime: false
  agent_join: token
  default_task: {{user: nobody, uid: 65534, group: nogroup, gid: 65534}}
resource_manager:
  type: agent
  require_authentication: true
  client_ca: {authority}
  verify_agent_ids: true
resource_pools: [{{pool_name: default}}, {{pool_name: gpus}}]
proxy: {{address: "https://tasks.example"}}
user_storage: {{max_gib: 20}}
task_container_defaults:
  {{allow_root: false, allowed_host_paths: [], allowed_capabilities: [], allowed_devices: []}}
"""


@pytest.fixture
def closed(tmp_path: Path) -> str:
    """Settings for tenants who do not trust each other."""
    authority = Authority(tmp_path)
    pair = authority.sign("master")
    return CLOSED.format(cert=pair.cert, key=pair.key, authority=authority.cert)


def keys(settings: Settings) -> list[str]:
    return [setting.key for setting in open_settings(settings)]


def changed(settings: Settings, path: str, value: Any) -> Settings:
    """The settings with another value at a dotted path."""
    name, _, rest = path.partition(".")
    inner = getattr(settings, name)
    if rest and isinstance(inner, dict):
        return replace(settings, **{name: {**inner, rest: value}})
    return replace(settings, **{name: changed(inner, rest, value) if rest else value})


def test_closed_settings_are_not_named(tmp_path: Path, closed: str) -> None:
    settings = read(tmp_path, closed)
    assert keys(settings) == []
    report = tenants_report(settings)
    assert report.startswith("no setting is open")
    assert "a namespace for each workspace" in report


@pytest.mark.parametrize(
    ("path", "value", "key"),
    [
        ("security.authz.type", "basic", "security.authz.type"),
        ("security.authz.strict_job_queue_control", False, None),
        ("security.tls.cert", "", None),
        ("security.token.max_lifespan_days", -1, None),
        ("enable_cors", True, None),
        ("proxy.address", "", None),
        ("user_storage.max_gib", 0.0, None),
        ("security.allow_process_runtime", True, None),
        ("security.agent_join", "open", None),
        ("resource_manager.require_authentication", False, None),
        ("resource_manager.verify_agent_ids", False, None),
        ("security.default_task.uid", 0, None),
        ("task_container_defaults.allow_root", None, None),
        ("task_container_defaults.allow_root", True, None),
        ("task_container_defaults.allowed_host_paths", None, None),
        ("task_container_defaults.allowed_capabilities", None, None),
        ("task_container_defaults.allowed_devices", None, None),
        ("security.agent_networks", ("10.0.0.0/8",), None),
        ("webhooks.allowed_networks", ("10.0.0.0/8",), None),
        (
            "checkpoint_storage",
            {"type": "s3", "bucket": "b", "allowed_endpoints": ["http://s3"]},
            "checkpoint_storage.allowed_endpoints",
        ),
    ],
)  # fmt: skip
def test_each_open_setting_is_named_alone(
    tmp_path: Path, closed: str, path: str, value: Any, key: str | None
) -> None:
    assert keys(changed(read(tmp_path, closed), path, value)) == [key or path]


def test_a_pool_that_is_more_open_than_the_cluster_is_named(tmp_path: Path, closed: str) -> None:
    text = closed.replace(
        "{pool_name: gpus}", "{pool_name: gpus, task_container_defaults: {allow_root: true}}"
    )
    assert keys(read(tmp_path, text)) == ["task_container_defaults.allow_root (of gpus)"]


def test_kubernetes_needs_no_settings_of_agents(tmp_path: Path) -> None:
    settings = read(tmp_path, "resource_manager: {type: kubernetes, max_slots_per_pod: 0}\n")
    assert "resource_manager.default_namespace" in keys(settings)
    assert "security.allow_process_runtime" not in keys(settings)
    assert "security.agent_join" not in keys(settings)


def test_a_default_master_is_open_in_every_part(tmp_path: Path) -> None:
    found = keys(read(tmp_path, ""))
    assert {"security.authz.type", "proxy.address", "task_container_defaults.allow_root"} <= {
        *found
    }
    report = tenants_report(read(tmp_path, ""))
    assert report.startswith(f"{len(found)} settings are open")
    for key in found:
        assert f"\n  {key}: " in report


def test_the_option_is_of_the_command_check_alone(capsys: pytest.CaptureFixture[str]) -> None:
    assert load(["check", "--tenants"], HOME).run.tenants
    assert not load(["check"], HOME).run.tenants
    with pytest.raises(SystemExit):
        load(["run", "--tenants"], HOME)
    assert "--tenants" in capsys.readouterr().err


@pytest.mark.slow
def test_the_exit_status_says_whether_anything_is_open(tmp_path: Path, closed: str) -> None:
    file = tmp_path / "master.yaml"

    def run(text: str, *words: str) -> subprocess.CompletedProcess[str]:
        file.write_text(text)
        return subprocess.run(
            [sys.executable, "-m", "determined_master.main", "check", *words],
            env={**os.environ, "DET_CONFIG_FILE": str(file)},
            capture_output=True,
            text=True,
            check=False,
        )

    assert run(closed, "--tenants").returncode == 0
    opened = run("port: 9000\n", "--tenants")
    assert opened.returncode == 1
    assert "security.authz.type: every user sees everything" in opened.stdout
