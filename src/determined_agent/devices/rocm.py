"""AMD GPUs, by `rocm-smi`."""

from __future__ import annotations

import json
import logging
import re
import subprocess

from determined_wire.agent_link import Device

log = logging.getLogger(__name__)

_COMMAND = (
    "rocm-smi",
    *("--showid", "--showuniqueid", "--showbus", "--showproductname", "--showdriverversion"),
    "--json",
)
_TIMEOUT_S = 30


class RocmSmiError(Exception):
    """`rocm-smi` printed something unexpected; guessing the slots would be worse."""


def rocm_devices(visible: tuple[str, ...]) -> tuple[Device, ...]:
    """Return the GPUs of this machine.

    Args:
        visible: index, unique id or PCI bus of each device to use; empty for all.

    Raises:
        RocmSmiError: the tool's output cannot be parsed.
    """
    try:
        done = subprocess.run(
            _COMMAND, capture_output=True, text=True, timeout=_TIMEOUT_S, check=True
        )
    except FileNotFoundError:
        log.info("no ROCm devices: rocm-smi is not installed")
        return ()
    except (OSError, subprocess.SubprocessError) as error:
        log.warning("no ROCm devices, rocm-smi failed: %s", error)
        return ()
    return parse_rocm_smi(done.stdout, visible)


def parse_rocm_smi(output: str, visible: tuple[str, ...]) -> tuple[Device, ...]:
    """Parse the tool's JSON, which has one object per card among others. Raises RocmSmiError."""
    try:
        cards = json.loads(output)
        if version := (cards.get("system") or {}).get("Driver version"):
            log.info("ROCm driver %s", version)
        devices = []
        for name, card in cards.items():
            number = re.fullmatch(r"card(\d+)", name)
            if number is None:
                continue
            index, uuid, bus = int(number[1]), str(card["Unique ID"]), str(card["PCI Bus"])
            if not visible or {str(index), uuid, bus} & set(visible):
                uuid = bus if uuid in ("", "N/A") else uuid  # old cards have none
                brand = str(card.get("Card series") or card.get("Card Series") or card["GPU ID"])
                devices.append(Device(index, brand, uuid, "rocm"))
    except (ValueError, KeyError, TypeError, AttributeError) as error:
        raise RocmSmiError(
            f"rocm-smi printed unexpected output ({error!r}): set `slot_type: none` "
            "or `cpu` to run without GPUs"
        ) from error
    return tuple(sorted(devices, key=lambda d: d.id))
