"""The device files of AMD GPUs: numbers in /dev/dri are not those of `rocm-smi`.

A card's number also counts adapters that are no slots, such as that of a server's console; what
both have in common is the place on the PCI bus.
"""

from __future__ import annotations

import json
import subprocess
from collections.abc import Collection
from pathlib import Path

KFD = "/dev/kfd"
"""The driver's own device, which every container with a GPU needs."""
PCI = Path("/sys/bus/pci/devices")
_COMMAND = ("rocm-smi", "--showbus", "--json")
_TIMEOUT_S = 30


class NoNodes(Exception):
    """The device files cannot be told; the text names the slot or the tool."""


def rocm_nodes(ids: Collection[int]) -> tuple[str, ...]:
    """The driver's device and those of some GPUs. Blocks for about a second. Raises NoNodes."""
    try:
        done = subprocess.run(
            _COMMAND, capture_output=True, text=True, timeout=_TIMEOUT_S, check=True
        )
    except (OSError, subprocess.SubprocessError) as error:
        raise NoNodes(f"rocm-smi does not tell where the GPUs are: {error}") from error
    return nodes_of(done.stdout, ids)


def nodes_of(output: str, ids: Collection[int], pci: Path = PCI) -> tuple[str, ...]:
    """The device files by the tool's JSON.

    Args:
        output: of `rocm-smi --showbus --json`.
        ids: numbers of the slots.
        pci: where the kernel lists PCI devices.

    Raises:
        NoNodes: one is not to be found.
    """
    nodes = [KFD]
    for number in sorted(ids):
        try:
            bus = str(json.loads(output)[f"card{number}"]["PCI Bus"]).lower()
            found = sorted(entry.name for entry in (pci / bus / "drm").iterdir())
        except (ValueError, KeyError, TypeError, OSError) as error:
            raise NoNodes(
                f"the device files of GPU {number} are not to be found ({error!r}): see that the "
                "driver amdgpu is loaded and /sys is that of the machine"
            ) from error
        nodes += [f"/dev/dri/{name}" for name in found if name.startswith(("card", "renderD"))]
    return tuple(nodes)
