"""NVIDIA GPUs, by NVML."""

from __future__ import annotations

import contextlib
import logging
from typing import Any

from determined_wire.agent_link import Device

log = logging.getLogger(__name__)


def cuda_devices(visible: tuple[str, ...]) -> tuple[Device, ...]:
    """Return the GPUs of this machine. GPUs with MIG are replaced by their MIG instances.

    If there are MIG instances, all devices are numbered in order.

    Args:
        visible: index, UUID, PCI id or board serial of each device to use; empty for all.
    """
    try:
        import pynvml
    except ImportError:
        log.info("no CUDA devices: nvidia-ml-py is not installed")
        return ()
    try:
        pynvml.nvmlInit()
    except pynvml.NVMLError as error:
        log.info("no CUDA devices: %s", error)
        return ()
    try:
        log.info("NVIDIA driver %s", _text(pynvml.nvmlSystemGetDriverVersion()))
        return _devices(pynvml, visible)
    except pynvml.NVMLError as error:
        log.warning("no CUDA devices, NVML failed: %s", error)
        return ()
    finally:
        pynvml.nvmlShutdown()


def _devices(nvml: Any, visible: tuple[str, ...]) -> tuple[Device, ...]:
    whole: list[Device] = []
    instances: list[tuple[str, str]] = []
    for index in range(nvml.nvmlDeviceGetCount()):
        gpu = nvml.nvmlDeviceGetHandleByIndex(index)
        is_visible = not visible or bool(_names(nvml, gpu, index) & set(visible))
        parts = _mig_instances(nvml, gpu)
        instances += [p for p in parts if is_visible or p[1] in visible]
        if is_visible and not parts:
            name = _text(nvml.nvmlDeviceGetName(gpu))
            whole.append(Device(index, name, _text(nvml.nvmlDeviceGetUUID(gpu)), "cuda"))
    if not instances:
        return tuple(whole)
    everything = [(d.brand, d.uuid) for d in whole] + instances
    return tuple(Device(i, brand, uuid, "cuda") for i, (brand, uuid) in enumerate(everything))


def _names(nvml: Any, gpu: Any, index: int) -> set[str]:
    names = {str(index), _text(nvml.nvmlDeviceGetUUID(gpu))}
    bus_id = _text(nvml.nvmlDeviceGetPciInfo(gpu).busId)
    names |= {bus_id, bus_id.lower(), bus_id[4:], bus_id[4:].lower()}
    with contextlib.suppress(nvml.NVMLError):  # desktop boards have no serial
        names.add(_text(nvml.nvmlDeviceGetSerial(gpu)))
    return names


def _mig_instances(nvml: Any, gpu: Any) -> list[tuple[str, str]]:
    try:
        current, _ = nvml.nvmlDeviceGetMigMode(gpu)
        if current != nvml.NVML_DEVICE_MIG_ENABLE:
            return []
        count = nvml.nvmlDeviceGetMaxMigDeviceCount(gpu)
    except nvml.NVMLError:
        return []  # a GPU without MIG
    instances = []
    for number in range(count):
        try:
            part = nvml.nvmlDeviceGetMigDeviceHandleByIndex(gpu, number)
        except nvml.NVMLError:
            continue  # instance numbers have gaps
        name = _text(nvml.nvmlDeviceGetName(part))
        instances.append((name, _text(nvml.nvmlDeviceGetUUID(part))))
    return instances


def _text(value: Any) -> str:
    return value.decode() if isinstance(value, bytes) else str(value)
