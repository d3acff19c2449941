"""What is refused of the master's settings, and how it is told."""

from __future__ import annotations

from pathlib import Path

import pytest
from tests.covers import covers
from tests.master_settings import HOME, errors, read

from determined_master.domain.config.schema.problems import ProblemReport
from determined_master.settings.check import upgrade
from determined_master.settings.master import SettingsError, load

E = "scheduling-and-provisioning"


@covers(f"{E} e.1.unique")
def test_every_error_has_its_path_and_source(tmp_path: Path) -> None:
    text = """
prot: 1
db: {host: x, ssl_mode: zip, pass: 1}
resource_pools: [{pool_name: a}, {pool_name: a, agent_reconnect_wait: 5x}]
log: zip
"""
    found = errors(tmp_path, text, "--port", "99999")
    assert found == [
        "root.db.name: must be set when db.host is",
        "root.db.pass: unknown option",
        'root.db.ssl_mode: value must be one of "disable", "require", "verify-ca", "verify-full" '
        'but found "zip"',
        "root.db.user: must be set when db.host is",
        "root.log: expected object, but got string",
        "root.port: must be <= 65535 but found 99999 (from --port)",
        "root.prot: unknown option; did you mean root?",
        'root.resource_manager.default_aux_resource_pool: there is no pool "default"; pools: a',
        'root.resource_manager.default_compute_resource_pool: there is no pool "default"; '
        "pools: a",
        'root.resource_pools[1].agent_reconnect_wait: must be a time such as "25s" or "1m30s" '
        'but found "5x"',
        'root.resource_pools[1].pool_name: "a" is the name of another pool: names must be unique',
    ]


def section(line: str) -> str:
    return line.partition(":")[0].split(".")[1]


CASES = {
    "1 a number": ("port: zip", "root.port: expected integer"),
    "3 a password that is a number": (
        "db: {host: h, user: u, name: n, password: 1234}",
        "root.db.password: expected string",
    ),
    "3 a user without a host": ("db: {user: u}", "root.db.host: must be set"),
    "6 a network that is none": (
        "webhooks: {allowed_networks: [10.0.0.1/8]}",
        "root.webhooks.allowed_networks: must be networks, such as 10.1.0.0/16: "
        "10.0.0.1/8 has host bits set",
    ),
    "4 a proxy that is none": (
        "security: {trusted_proxies: [nginx]}",
        "root.security.trusted_proxies: must be networks, such as 10.1.0.0/16: 'nginx'",
    ),
    "4 a network of agents that is none": (
        "security: {agent_networks: [gpu-7]}",
        "root.security.agent_networks: must be networks, such as 10.1.0.0/16: 'gpu-7'",
    ),
    "6 an address without a scheme": (
        "webhooks: {base_url: example.org}",
        "root.webhooks.base_url: must be http(s)://HOST",
    ),
    "4 half of TLS": ("security: {tls: {key: /k}}", "root.security.tls.cert: cert and key must"),
    "4 a certificate that is not there": (
        "security: {tls: {cert: /nope, key: /nope}}",
        "root.security.tls.cert: /nope cannot be read: No such file",
    ),
    "4 RSA": ("security: {ssh: {key_type: RSA}}", "root.security.ssh.rsa_key_size: must be from"),
    "4 authz": (
        "security: {authz: {type: zip}}",
        'root.security.authz.type: "zip" is none of the known types: basic, rbac',
    ),
    "4 fallback": (
        "security: {authz: {fallback: zip}}",
        'root.security.authz.fallback: "zip" is none of the known types: basic, rbac',
    ),
    "4 a creator's role": (
        "security: {authz: {workspace_creator_assign_role: {role_id: 1}}}",
        "root.security.authz.workspace_creator_assign_role.role_id: is not a role of workspaces",
    ),
    "4 lifespan": (
        "security: {token: {default_lifespan_days: 60}}",
        "root.security.token.default_lifespan_days: must be <= max_lifespan_days (30)",
    ),
    "4 ours": ("security: {agent_join: zip}", "root.security.agent_join: value must be one of"),
    "5 oidc": ("oidc: {enabled: true}", "root.oidc.enabled: is not in this version"),
    "5 saml": ("saml: {enabled: true}", "root.saml.enabled: is not in this version"),
    "5 scim": ("scim: {enabled: true}", "root.scim.enabled: is not in this version"),
    "5 a cloud": ("det_cloud: {enabled: true}", "root.det_cloud.enabled: is not in this version"),
    "6 a log": ("logging: {type: loki}", 'root.logging.type: must be "default"'),
    "6 retention": (
        "retention_policy: {log_retention_days: -2}",
        "root.retention_policy.log_retention_days: must be from -1 to 32767",
    ),
    "6 schedule": (
        "retention_policy: {schedule: often}",
        "root.retention_policy.schedule: must be a time",
    ),
    "6 cron": (
        "retention_policy: {schedule: 61 * * * *}",
        "root.retention_policy.schedule: the minute field must be 0 to 59, it has 61",
    ),
    "7 no wheels": (
        "wheelhouse: /nope",
        "root.wheelhouse: must be a directory of wheels but found '/nope'",
    ),
    "7 logos": (
        "ui_customization: {logo_paths: {dark_vertical: /nope}}",
        "root.ui_customization.logo_paths.dark_vertical: there is no file",
    ),
    "7 no image": (
        "ui_customization: {logo_paths: {dark_vertical: /etc/passwd}}",
        "root.ui_customization.logo_paths.dark_vertical: must be an image file that ends in .svg",
    ),
    "8 storage": (
        "checkpoint_storage: {type: shared_fs, host_path: a}",
        "root.checkpoint_storage.host_path: must be an absolute path",
    ),
    "8 half a storage": (
        "checkpoint_storage: {type: s3}",
        "root.checkpoint_storage: bucket is a required property",
    ),
    "9 defaults": (
        "task_container_defaults: {bind_mounts: [{host_path: a, container_path: b}]}",
        "root.task_container_defaults.bind_mounts[0].host_path: must be an absolute path",
    ),
    "9 defaults of a pool": (
        "resource_pools: [{pool_name: default, task_container_defaults: {zip: 1}}]",
        'root.resource_pools[0].task_container_defaults: additionalProperties "zip"',
    ),
    "10 slurm": (
        "resource_manager: {type: slurm}",
        'root.resource_manager.type: "slurm" is not in this version: use agent, and start',
    ),
    "10 round robin": (
        "resource_manager: {scheduler: {type: round_robin}}",
        "root.resource_manager.scheduler.type: round_robin is not available any more",
    ),
    "10 priority": (
        "resource_manager: {scheduler: {default_priority: 100}}",
        "root.resource_manager.scheduler.default_priority: must be <= 99",
    ),
    "10 client certificates": (
        "resource_manager: {require_authentication: true}",
        "root.resource_manager.require_authentication: needs HTTPS: set security.tls.cert",
    ),
    "13 what is needed": (
        "additional_resource_managers: [{}]",
        "root.additional_resource_managers[0].resource_manager.cluster_name: is required, and",
    ),
    "15 hpc": (
        "resource_pools: [{pool_name: default, provider: {type: hpc, partition: gpu}}]",
        "root.resource_pools[0].provider.type: Slurm and PBS partitions are not in this version",
    ),
    "15 a type": (
        "resource_pools: [{pool_name: default, provider: {type: zip}}]",
        'root.resource_pools[0].provider.type: "zip" is no type of provider',
    ),
    "15 no type": (
        "resource_pools: [{pool_name: default, provider: {max_instances: 3}}]",
        "root.resource_pools[0].provider.type: is required",
    ),
    "1 the older shape": ("scheduler: {fit: best}", "root.scheduler: is an older form"),
}


@pytest.mark.parametrize(("text", "start"), CASES.values(), ids=CASES)
def test_a_mistake_is_refused_with_its_path(tmp_path: Path, text: str, start: str) -> None:
    found = errors(tmp_path, text)
    assert [line for line in found if line.startswith(start)], found
    assert {section(line) for line in found} == {section(start)}


def test_a_file_that_was_named_must_be_there() -> None:
    with pytest.raises(SettingsError, match=r"file /nope/master\.yaml does not exist"):
        load(["--config-file", "/nope/master.yaml"], HOME)


@pytest.mark.parametrize("text", ["a: [", "- a", "port: 1\nport: 2"])
def test_a_file_that_is_no_map_is_named(tmp_path: Path, text: str) -> None:
    with pytest.raises(SettingsError, match=r"configuration file .*master\.yaml"):
        read(tmp_path, text)


def test_an_unreadable_file_is_reported_with_the_reason(tmp_path: Path) -> None:
    (tmp_path / "latin").write_bytes(b"host: \xe4")
    for name, said in (("latin", ": byte 7 is not UTF-8 text: save"), ("", " cannot be read: Is")):
        with pytest.raises(SettingsError) as caught:
            load(["--config-file", str(tmp_path / name)], HOME)
        assert str(caught.value).startswith(f"configuration file {tmp_path / name}{said}")


def test_an_unknown_flag_ends_the_program(capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit) as caught:
        load(["--bogus"], HOME)
    assert caught.value.code == 2
    assert "--bogus" in capsys.readouterr().err


def test_settings_without_effect_are_warned_of_and_defaults_are_not() -> None:
    tree = {
        "security": {"authz": {"fallback": "basic"}},
        "task_container_defaults": {"nccl_port_range": "1:2"},
    }
    report = ProblemReport()
    upgrade(tree, report)
    assert sorted(text.partition(": ")[0] for text in report.warnings) == [
        "root.security.authz.fallback",
        "root.task_container_defaults.nccl_port_range",
    ]
    report = ProblemReport()
    upgrade({"port": 8080, "cache": {}, "security": None}, report)
    assert report.warnings == ()
