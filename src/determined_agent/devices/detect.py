"""Which slots this machine has.

Source: agent-config 3.
"""

from __future__ import annotations

import hashlib
import logging
import uuid

from determined_agent.devices.cpu import cpu_devices
from determined_agent.devices.cuda import cuda_devices
from determined_agent.devices.rocm import rocm_devices
from determined_agent.settings.options import Settings
from determined_wire.agent_link import Device

log = logging.getLogger(__name__)


def detect(settings: Settings) -> tuple[Device, ...]:
    """The devices that become slots.

    `artificial_slots` overrides all else. `auto` takes the first that is there: CUDA, ROCm,
    the processors as one slot. Tools of a vendor that are missing mean no such devices.
    """
    if settings.artificial_slots > 0:
        return artificial_devices(settings.agent_id, settings.artificial_slots)
    found = _detect(settings)
    if settings.slot_type in ("cuda", "gpu", "rocm") and not found:
        log.warning(
            "slot_type is %s and no such device was found%s: this agent has no slots",
            settings.slot_type,
            f" among visible_gpus '{settings.visible_gpus}'" if settings.visible_gpus else "",
        )
    return found


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


def artificial_devices(agent_id: str, count: int) -> tuple[Device, ...]:
    """Made-up slots for tests and demos; the same ones for the same agent."""
    return tuple(
        Device(id=i, brand="Artificial", uuid=_artificial_uuid(agent_id, i), type="cpu")
        for i in range(count)
    )


def _artificial_uuid(agent_id: str, index: int) -> str:
    digest = hashlib.sha256(f"{agent_id}/{index}".encode()).digest()
    return str(uuid.UUID(bytes=digest[:16], version=4))
