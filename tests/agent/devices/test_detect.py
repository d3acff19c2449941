"""Detecting slots, with fakes of the vendors' tools."""

from __future__ import annotations

import json
import sys
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest
from tests.covers import covers

from determined_agent.devices import detect as module
from determined_agent.devices.cpu import artificial_devices, cpu_devices
from determined_agent.devices.cuda import cuda_devices
from determined_agent.devices.detect import detect_devices
from determined_agent.devices.rocm import RocmSmiError, parse_rocm_smi
from determined_agent.settings.options import Settings


def settings(**overrides: Any) -> Settings:
    values: dict[str, Any] = {"master_host": "m", "master_port": 1, "agent_id": "a"}
    return Settings(**(values | overrides))


class NVMLError(Exception):
    pass


class FakeNvml(ModuleType):
    """Two GPUs, one of them perhaps split into MIG instances 0 and 2."""

    NVMLError = NVMLError
    NVML_DEVICE_MIG_ENABLE = 1

    def __init__(self, mig: bool = False) -> None:
        super().__init__("pynvml")
        self.mig = mig
        self.is_open = False

    def nvmlInit(self) -> None:
        self.is_open = True

    def nvmlShutdown(self) -> None:
        self.is_open = False

    def nvmlSystemGetDriverVersion(self) -> bytes:
        return b"999"

    def nvmlDeviceGetCount(self) -> int:
        return 2

    def nvmlDeviceGetHandleByIndex(self, index: int) -> str:
        return f"GPU-{index}"

    def nvmlDeviceGetName(self, gpu: str) -> str:
        return f"name of {gpu}"

    def nvmlDeviceGetUUID(self, gpu: str) -> str:
        return gpu

    def nvmlDeviceGetSerial(self, gpu: str) -> str:
        if gpu == "GPU-0":
            raise NVMLError
        return "serial-1"

    def nvmlDeviceGetPciInfo(self, gpu: str) -> Any:
        return type("Pci", (), {"busId": f"00000000:0{gpu[-1]}:00.0"})

    def nvmlDeviceGetMigMode(self, gpu: str) -> tuple[int, int]:
        if gpu == "GPU-0":
            raise NVMLError
        return int(self.mig), int(self.mig)

    def nvmlDeviceGetMaxMigDeviceCount(self, gpu: str) -> int:
        return 3

    def nvmlDeviceGetMigDeviceHandleByIndex(self, gpu: str, number: int) -> str:
        if number == 1:
            raise NVMLError
        return f"MIG-{number}"


@pytest.fixture
def nvml(monkeypatch: pytest.MonkeyPatch) -> FakeNvml:
    fake = FakeNvml()
    monkeypatch.setitem(sys.modules, "pynvml", fake)
    return fake


class Tool:
    """A fake `rocm-smi`, alone on the PATH."""

    def __init__(self, path: Path) -> None:
        self._path = path / "rocm-smi"

    def says(self, text: str, code: int = 0) -> None:
        self._path.write_text(f"#!/bin/sh\necho '{text}'\nexit {code}\n")
        self._path.chmod(0o755)

    def is_gone(self) -> None:
        self._path.unlink()


@pytest.fixture
def tool(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Tool:
    monkeypatch.setenv("PATH", str(tmp_path))
    return Tool(tmp_path)


@pytest.mark.parametrize(
    ("visible", "found"),
    [
        ((), [(0, "GPU-0"), (1, "GPU-1")]),
        (("1",), [(1, "GPU-1")]),
        (("GPU-0",), [(0, "GPU-0")]),
        (("0000:01:00.0",), [(1, "GPU-1")]),
        (("serial-1",), [(1, "GPU-1")]),
        (("7",), []),
    ],
)
@covers("agent-config 3.cuda 2.visible_gpus")
def test_visible_gpus_selects_the_gpus(
    nvml: FakeNvml, visible: tuple[str, ...], found: list[tuple[int, str]]
) -> None:
    assert [(d.id, d.uuid) for d in cuda_devices(visible)] == found
    assert not nvml.is_open


@covers("agent-config 3.mig")
def test_mig_instances_are_slots_numbered_in_order(nvml: FakeNvml) -> None:
    nvml.mig = True
    assert [(d.id, d.uuid) for d in cuda_devices(())] == [(0, "GPU-0"), (1, "MIG-0"), (2, "MIG-2")]
    assert [(d.id, d.uuid) for d in cuda_devices(("MIG-2",))] == [(0, "MIG-2")]


@covers("agent-config 3.mig 2.visible_gpus")
def test_all_instances_of_a_visible_gpu_are_visible(nvml: FakeNvml) -> None:
    nvml.mig = True
    assert [(d.id, d.uuid) for d in cuda_devices(("1",))] == [(0, "MIG-0"), (1, "MIG-2")]
    assert [(d.id, d.uuid) for d in cuda_devices(("GPU-0",))] == [(0, "GPU-0")]


def test_a_machine_without_a_driver_has_no_gpus(
    nvml: FakeNvml, monkeypatch: pytest.MonkeyPatch
) -> None:
    def fail() -> None:
        raise NVMLError("no driver")

    monkeypatch.setattr(nvml, "nvmlInit", fail)
    assert cuda_devices(()) == ()


@covers("agent-config 3.no_tool")
def test_a_slot_type_without_devices_is_warned_about(
    nvml: FakeNvml,
    tool: Tool,
    monkeypatch: pytest.MonkeyPatch,
    caplog: pytest.LogCaptureFixture,
) -> None:
    def fail(index: int) -> str:
        raise NVMLError("the GPU fell off the bus")

    tool.says("", code=1)
    monkeypatch.setattr(nvml, "nvmlDeviceGetHandleByIndex", fail)
    assert detect_devices(settings(slot_type="cuda")) == ()
    assert detect_devices(settings(slot_type="rocm", visible_gpus="7")) == ()
    tool.is_gone()
    assert detect_devices(settings(slot_type="rocm")) == ()
    assert [r.message for r in caplog.records if r.levelname == "WARNING"] == [
        "no CUDA devices, NVML failed: the GPU fell off the bus",
        "slot_type is cuda but no such device was found: this agent has no slots",
        "no ROCm devices, rocm-smi failed: Command '('rocm-smi', '--showid', '--showuniqueid', "
        "'--showbus', '--showproductname', '--showdriverversion', '--json')' returned non-zero "
        "exit status 1.",
        "slot_type is rocm but no such device was found among visible_gpus '7': this agent has "
        "no slots",
        "slot_type is rocm but no such device was found: this agent has no slots",
    ]


@covers("agent-config 3.auto 3.cuda")
def test_auto_takes_the_first_kind_present(
    nvml: FakeNvml, tool: Tool, monkeypatch: pytest.MonkeyPatch
) -> None:
    tool.says(json.dumps(CARDS))
    assert [d.uuid for d in detect_devices(settings())] == ["GPU-0", "GPU-1"]
    assert detect_devices(settings(slot_type="gpu")) == detect_devices(settings(slot_type="cuda"))
    monkeypatch.setattr(nvml, "nvmlDeviceGetCount", lambda: 0)
    assert [d.uuid for d in detect_devices(settings())] == ["0xa", "0xb"]
    tool.is_gone()
    assert [d.type for d in detect_devices(settings())] == ["cpu"]


@covers("agent-config 3.driver")
def test_the_versions_of_drivers_are_logged(
    nvml: FakeNvml, tool: Tool, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level("INFO")
    tool.says(json.dumps(CARDS))
    detect_devices(settings(slot_type="cuda"))
    detect_devices(settings(slot_type="rocm"))
    assert [r.message for r in caplog.records] == ["NVIDIA driver 999", "ROCm driver 6"]


CARDS = {
    "card1": {"GPU ID": "0x2", "Unique ID": "0xb", "PCI Bus": "0000:43:00.0"},
    "card0": {
        "GPU ID": "0x1",
        "Unique ID": "0xa",
        "PCI Bus": "0000:03:00.0",
        "Card series": "MI210",
    },
    "system": {"Driver version": "6"},
}


@pytest.mark.parametrize(
    ("visible", "found"),
    [((), [0, 1]), (("1",), [1]), (("0xa",), [0]), (("0000:43:00.0",), [1])],
)
@covers("agent-config 3.rocm")
def test_rocm_cards_are_read_by_number(visible: tuple[str, ...], found: list[int]) -> None:
    devices = parse_rocm_smi(json.dumps(CARDS), visible)
    assert [d.id for d in devices] == found
    if not visible:
        assert [(d.brand, d.uuid) for d in devices] == [("MI210", "0xa"), ("0x2", "0xb")]


@pytest.mark.parametrize("output", ["", "no json", "[]", '{"card0": {}}', '{"card0": 1}'])
@covers("agent-config 3.malformed")
def test_unreadable_output_of_rocm_smi_is_fatal(output: str) -> None:
    with pytest.raises(RocmSmiError, match="set `slot_type: none`"):
        parse_rocm_smi(output, ())


@covers("agent-config 3.cpu")
def test_the_processors_are_one_slot(tmp_path: Path) -> None:
    cpuinfo = tmp_path / "cpuinfo"
    cpuinfo.write_text("vendor_id : AuthenticAMD\nmodel name\t: AMD EPYC\nmodel name : other\n")
    [device] = cpu_devices(cpuinfo)
    assert device.brand.startswith("AMD EPYC x ")
    assert (device.id, device.uuid, device.type) == (0, "AuthenticAMD", "cpu")
    [unknown] = cpu_devices(tmp_path / "missing")
    assert unknown.uuid


@covers("agent-config 3.artificial 2.artificial_slots")
@covers("scheduling-and-provisioning d.5.artificial")
def test_artificial_slots_are_stable_and_override_all_others() -> None:
    devices = detect_devices(settings(artificial_slots=3, slot_type="none"))
    assert devices == artificial_devices("a", 3)
    assert {(d.brand, d.type) for d in devices} == {("Artificial", "cpu")}
    assert len({d.uuid for d in (*devices, *artificial_devices("b", 3))}) == 6


@covers("agent-config 3.none")
def test_slot_type_none_gives_no_slot_and_cpu_gives_one() -> None:
    assert detect_devices(settings(slot_type="none")) == ()
    assert [d.type for d in detect_devices(settings(slot_type="cpu"))] == ["cpu"]


@covers("scheduling-and-provisioning d.5.auto d.5.types")
def test_auto_takes_the_first_kind_present_and_a_named_type_no_other(
    nvml: FakeNvml, monkeypatch: pytest.MonkeyPatch
) -> None:
    def kinds(slot_type: str) -> list[str]:
        return [d.type for d in detect_devices(settings(slot_type=slot_type))]

    cards = parse_rocm_smi(json.dumps(CARDS), ())
    found = {"rocm": cards}
    monkeypatch.setattr(module, "rocm_devices", lambda visible: found["rocm"])
    assert kinds("auto") == kinds("cuda") == kinds("gpu") == ["cuda", "cuda"]
    assert kinds("rocm") == ["rocm", "rocm"]
    monkeypatch.setattr(nvml, "nvmlDeviceGetCount", lambda: 0)
    assert kinds("auto") == ["rocm", "rocm"]
    assert kinds("cuda") == []
    found["rocm"] = ()
    assert kinds("auto") == kinds("cpu") == ["cpu"]
    assert (kinds("rocm"), kinds("none")) == ([], [])
