"""Maps AMD GPUs to their device files.

The card numbers in /dev/dri differ from those of `rocm-smi`, since they also count adapters that
are not slots, such as a server's console. The PCI bus address identifies a card in both.
"""

from __future__ import annotations

import json
import subprocess
from collections.abc import Collection
from pathlib import Path

KFD = "/dev/kfd"
"""The driver's own device. Every container with a GPU needs it."""
PCI = Path("/sys/bus/pci/devices")
_COMMAND = ("rocm-smi", "--showbus", "--json")
_TIMEOUT_S = 30


class DeviceNodeError(Exception):
    """The device files cannot be determined; the text names the slot or the tool."""


def rocm_nodes(ids: Collection[int]) -> tuple[str, ...]:
    """Return the driver's device file and those of some GPUs; blocks for about a second.

    Raises:
        DeviceNodeError: a device file is missing, or `rocm-smi` fails.
    """
    try:
        done = subprocess.run(
            _COMMAND, capture_output=True, text=True, timeout=_TIMEOUT_S, check=True
        )
    except (OSError, subprocess.SubprocessError) as error:
        raise DeviceNodeError(f"rocm-smi does not report where the GPUs are: {error}") from error
    return nodes_of(done.stdout, ids)


def nodes_of(output: str, ids: Collection[int], pci: Path = PCI) -> tuple[str, ...]:
    """Return the device files of some GPUs from the tool's JSON.

    Args:
        output: of `rocm-smi --showbus --json`.
        ids: numbers of the slots.
        pci: where the kernel lists PCI devices.

    Raises:
        DeviceNodeError: the files of a GPU are not found.
    """
    nodes = [KFD]
    for number in sorted(ids):
        try:
            bus = str(json.loads(output)[f"card{number}"]["PCI Bus"]).lower()
            names = sorted(entry.name for entry in (pci / bus / "drm").iterdir())
        except (ValueError, KeyError, TypeError, OSError) as error:
            raise DeviceNodeError(
                f"the device files of GPU {number} are not found ({error!r}): check that the "
                "driver amdgpu is loaded and that /sys is that of the machine"
            ) from error
        nodes += [f"/dev/dri/{name}" for name in names if name.startswith(("card", "renderD"))]
    return tuple(nodes)
