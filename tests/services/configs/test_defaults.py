"""What the admin's settings give to every container."""

from __future__ import annotations

from pathlib import Path

import pytest
from tests.covers import covers

from determined_master.pools.loop import PoolConfig
from determined_master.services.configs.defaults import pool_configs, task_defaults
from determined_master.settings.master import Settings, SettingsError, load

TEXT = """
reserved_ports: [12350, 29400]
security:
  ssh: {key_type: RSA, rsa_key_size: 2048}
task_container_defaults:
  network_mode: host
  shm_size_bytes: 7
  gloo_port_range: "29500:29600"
  dtrain_network_interface: eth1
"""


def read(tmp_path: Path, text: str) -> Settings:
    file = tmp_path / "master.yaml"
    file.write_text(text)
    return load(["--config-file", str(file)], {"HOME": "/home/ada"})


def pools(tmp_path: Path, text: str) -> dict[str, PoolConfig]:
    return {c.name: c for c in pool_configs(read(tmp_path, text))}


def test_settings_of_the_network_reach_the_containers(tmp_path: Path) -> None:
    file = tmp_path / "master.yaml"
    file.write_text(TEXT)
    found = task_defaults(load(["--config-file", str(file)], {"HOME": "/home/ada"}))
    assert found.reserved_ports == {12350, 29400}
    given = found.of("default")
    assert (given.network_mode, given.shm_size_bytes) == ("host", 7)
    assert (given.gloo_port_range, given.network_interface) == ("29500:29600", "eth1")
    assert (found.ssh_key_type, found.rsa_bits) == ("RSA", 2048)


@covers("scheduling-and-provisioning b.1.priority b.1.fitting b.5.aux_limit d.3.window")
def test_a_pool_without_settings_uses_priority_and_best_fit(tmp_path: Path) -> None:
    settings = read(tmp_path, "resource_manager: {scheduler: {default_priority: 50}}")
    [pool] = pool_configs(settings)
    assert (pool.rules.type, pool.rules.fitting, pool.rules.preemption) == (
        "priority",
        "best",
        False,
    )
    assert pool.max_zero_slot_tasks == 100
    assert settings.resource_pools[0].agent_reconnect_wait_s == 25
    worst = pools(tmp_path, "resource_manager: {scheduler: {fitting_policy: worst}}")
    assert worst["default"].rules.fitting == "worst"


@covers("scheduling-and-provisioning a.4.preemption_flag b.1.replaced")
def test_a_pools_scheduler_replaces_the_managers_whole(tmp_path: Path) -> None:
    found = pools(
        tmp_path,
        """
resource_manager:
  scheduler: {type: fair_share, fitting_policy: worst, preemption: true, gang_patience: 1m}
resource_pools:
  - {pool_name: default}
  - {pool_name: own, scheduler: {default_priority: 7}}
  - {pool_name: asks, scheduler: {preemption: true}}
""",
    )
    rules = {name: pool.rules for name, pool in found.items()}
    assert {name: (r.type, r.preemption) for name, r in rules.items()} == {
        "default": ("fair_share", True),
        "own": ("priority", False),
        "asks": ("priority", True),
    }
    assert (rules["default"].type, rules["default"].gang_patience_s) == ("fair_share", 60)
    own = rules["own"]
    assert (own.type, own.fitting, own.gang_patience_s) == ("priority", "best", 600)


@covers("scheduling-and-provisioning b.1.fair_share b.1.round_robin")
def test_shares_are_taken_with_a_warning_and_round_robin_is_not(tmp_path: Path) -> None:
    taken = read(tmp_path, "resource_manager: {scheduler: {type: fair_share}}")
    assert [w for w in taken.warnings if "fair_share is deprecated: use priority" in w]
    with pytest.raises(SettingsError, match="round_robin is not available any more: use priority"):
        read(tmp_path, "resource_manager: {scheduler: {type: round_robin}}")


@covers("scheduling-and-provisioning b.5.aux_older")
def test_the_older_name_of_the_limit_of_tasks_without_slots_wins(tmp_path: Path) -> None:
    text = "resource_pools: [{pool_name: default, max_cpu_containers_per_agent: 0%s}]"
    assert pools(tmp_path, text % "")["default"].max_zero_slot_tasks == 0
    both = pools(tmp_path, text % ", max_aux_containers_per_agent: 9")
    assert both["default"].max_zero_slot_tasks == 0


@covers("scheduling-and-provisioning d.4.always")
def test_finding_tasks_again_cannot_be_switched_off(tmp_path: Path) -> None:
    pool = "{pool_name: default, agent_reattach_enabled: false}"
    settings = read(tmp_path, f"resource_pools: [{pool}]")
    [warning] = [w for w in settings.warnings if "agent_reattach_enabled" in w]
    assert "agents always find their tasks again" in warning
