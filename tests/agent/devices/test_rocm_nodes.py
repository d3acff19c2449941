"""Device files follow the PCI bus address, not the number of a slot."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from determined_agent.devices.rocm_nodes import DeviceNodeError, nodes_of

OUTPUT = json.dumps(
    {"card0": {"PCI Bus": "0000:43:00.0"}, "card1": {"PCI Bus": "0000:C3:00.0"}, "system": {}}
)


@pytest.fixture
def pci(tmp_path: Path) -> Path:
    """A machine on which card 0 is the console's adapter."""
    for bus, names in (
        ("0000:03:00.0", ("card0",)),
        ("0000:43:00.0", ("card1", "renderD128", "controlD64")),
        ("0000:c3:00.0", ("card2", "renderD129")),
    ):
        for name in names:
            (tmp_path / bus / "drm" / name).mkdir(parents=True)
    return tmp_path


@pytest.mark.parametrize(
    ("ids", "nodes"),
    [
        ({1}, ("/dev/kfd", "/dev/dri/card2", "/dev/dri/renderD129")),
        (
            {0, 1},
            (
                "/dev/kfd",
                "/dev/dri/card1",
                "/dev/dri/renderD128",
                "/dev/dri/card2",
                "/dev/dri/renderD129",
            ),
        ),
    ],
)
def test_the_device_files_follow_the_pci_bus_address(
    pci: Path, ids: set[int], nodes: tuple[str, ...]
) -> None:
    assert nodes_of(OUTPUT, ids, pci) == nodes


@pytest.mark.parametrize(
    "output", ["", "[]", "{}", '{"card7": {}}', '{"card7": {"PCI Bus": "x"}}']
)
def test_a_gpu_without_files_is_named(pci: Path, output: str) -> None:
    with pytest.raises(DeviceNodeError, match=r"GPU 7 are not found.*amdgpu"):
        nodes_of(output, {7}, pci)
