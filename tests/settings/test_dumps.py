"""What `det master config` prints is a file that the master reads."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from determined_master.settings.master import load
from determined_wire.masking import mask_secrets

EXTERNAL = "db: {host: db.example.org, port: 5433, name: d, user: u}\n"
KUBERNETES = """
resource_manager: {type: kubernetes, default_namespace: team, max_slots_per_pod: 4}
resource_pools: [{pool_name: default, task_container_defaults: {startup_hook: date}}]
"""
TEXTS = {
    "defaults": "",
    "external": EXTERNAL,
    "pools": """
resource_manager: {scheduler: {type: fair_share, fitting_policy: worst}, metadata: {floor: 2}}
resource_pools:
  - {pool_name: default, agent_reconnect_wait: 90s, max_aux_containers_per_agent: 7}
  - {pool_name: fast, scheduler: {type: priority, preemption: true, default_priority: 7}}
""",
    "security": """
security:
  default_task: {user: nobody, uid: 65534, group: nogroup, gid: 65534}
  ssh: {key_type: RSA, rsa_key_size: 2048}
  token: {default_lifespan_days: 7, max_lifespan_days: 90}
  authz: {type: rbac, strict_job_queue_control: true}
  trusted_proxies: [10.0.0.0/8]
""",
    "tasks": """
checkpoint_storage: {type: s3, bucket: b, prefix: p, save_trial_best: 3}
task_container_defaults:
  shm_size_bytes: 1073741824
  bind_mounts: [{host_path: /data, container_path: /data, read_only: true}]
  log_policies: [{pattern: ECC, action: exclude_node}]
retention_policy: {log_retention_days: 90, schedule: 24h}
notebook_timeout: 3600
""",
    "kubernetes": KUBERNETES,
    "gcp": """
checkpoint_storage: {type: gcs, bucket: b}
resource_pools:
  - pool_name: default
    provider:
      type: gcp
      boot_disk_source_image: projects/p/global/images/i
      instance_type: {machine_type: n1-standard-8, gpu_type: nvidia-tesla-t4, gpu_num: 1}
      max_instances: 3
      network_interface: {network: n, subnetwork: s}
""",
}


def shown(directory: Path, text: str) -> dict[str, Any]:
    """All settings in force, as `det master config` prints them."""
    file = directory / "master.yaml"
    file.write_text(text)
    settings = load(["--config-file", str(file)], {"HOME": str(directory)}, is_root=False)
    return json.loads(json.dumps(mask_secrets(settings.masked())))


@pytest.mark.parametrize("name", TEXTS)
def test_a_dump_is_read_as_the_same_settings(tmp_path: Path, name: str) -> None:
    first = shown(tmp_path, TEXTS[name])
    assert shown(tmp_path, json.dumps(first)) == first


def test_numbers_are_numbers_and_no_id_is_empty(tmp_path: Path) -> None:
    dump = shown(tmp_path, EXTERNAL)
    assert dump["db"]["port"] == 5433
    assert set(dump["security"]["default_task"]) == {"user", "uid", "group", "gid"}


def test_a_dump_in_the_form_of_0_38_1_is_read(tmp_path: Path) -> None:
    dump = shown(tmp_path, EXTERNAL)
    old = json.loads(json.dumps(dump))
    old["db"]["port"] = "5433"
    old["port"] = "8080"
    old["security"]["default_task"] |= {"id": 0, "user_id": 0}
    assert shown(tmp_path, json.dumps(old)) == dump


def test_a_dump_names_the_secrets_that_it_does_not_have(tmp_path: Path) -> None:
    provider = {"type": "aws", "image_id": "ami-1", "ssh_key_name": "key"}
    provider["agent_config_file_contents"] = {"label": "a"}
    text = {
        "webhooks": {"signing_key": "secret"},
        "checkpoint_storage": {"type": "s3", "bucket": "b", "secret_key": "secret"},
        "resource_pools": [{"pool_name": "default", "provider": provider}],
    }
    dump = json.dumps(shown(tmp_path, json.dumps(text)))
    assert '"secret"' not in dump
    (tmp_path / "master.yaml").write_text(dump)
    line = ["--config-file", str(tmp_path / "master.yaml")]
    warnings = load(line, {"HOME": str(tmp_path)}, is_root=False).warnings
    masked = [
        w for w in warnings if w.endswith("for a secret that was not shown: write the secret")
    ]
    assert [warning.partition(":")[0] for warning in masked] == [
        "root.checkpoint_storage.secret_key",
        "root.resource_pools[0].provider.agent_config_file_contents.label",
        "root.webhooks.signing_key",
    ]
