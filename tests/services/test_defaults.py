"""What the admin's settings give to every container."""

from __future__ import annotations

from pathlib import Path

from determined_master.services.defaults import task_defaults
from determined_master.settings import load

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


def test_settings_of_the_network_reach_the_containers(tmp_path: Path) -> None:
    file = tmp_path / "master.yaml"
    file.write_text(TEXT)
    found = task_defaults(load(["--config-file", str(file)], {"HOME": "/home/ada"}))
    assert found.reserved_ports == {12350, 29400}
    given = found.of("default")
    assert (given.network_mode, given.shm_size_bytes) == ("host", 7)
    assert (given.gloo_port_range, given.network_interface) == ("29500:29600", "eth1")
    assert (found.ssh_key_type, found.rsa_bits) == ("RSA", 2048)
