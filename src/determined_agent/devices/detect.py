"""Detects the slots of this machine.

Source: agent-config 3.
"""

from __future__ import annotations

import logging

from determined_agent.devices.cpu import artificial_devices, cpu_devices
from determined_agent.devices.cuda import cuda_devices
from determined_agent.devices.rocm import rocm_devices
from determined_agent.settings.options import Settings
from determined_wire.agent_link import Device

log = logging.getLogger(__name__)


def detect_devices(settings: Settings) -> tuple[Device, ...]:
    """Return the devices that become slots.

    `artificial_slots` overrides everything else. `auto` takes the first kind that is present:
    CUDA, then ROCm, then the processors as one slot. If a vendor's tools are not installed, the
    machine has no devices of that vendor.
    """
    if settings.artificial_slots > 0:
        return artificial_devices(settings.agent_id, settings.artificial_slots)
    devices = _detect(settings)
    if settings.slot_type in ("cuda", "gpu", "rocm") and not devices:
        log.warning(
            "slot_type is %s but no such device was found%s: this agent has no slots",
            settings.slot_type,
            f" among visible_gpus '{settings.visible_gpus}'" if settings.visible_gpus else "",
        )
    return devices


def _detect(settings: Settings) -> tuple[Device, ...]:
    visible = tuple(v.strip() for v in settings.visible_gpus.split(",") if v.strip())
    match settings.slot_type:
        case "none":
            return ()
        case "cpu":
            return cpu_devices()
        case "cuda" | "gpu":
            return cuda_devices(visible)
        case "rocm":
            return rocm_devices(visible)
        case _:
            return cuda_devices(visible) or rocm_devices(visible) or cpu_devices()
