"""Preflight checks."""

from __future__ import annotations

import socket
import threading
import time
from email.utils import formatdate
from types import SimpleNamespace
from typing import Any

import pytest
from tests.free_ports import free_port

from determined.exec._container import preflight
from determined.exec._container.accelerators import Accelerators
from determined.exec._log import EntryFailed

ENV = {"DET_ALLOCATION_ID": "1.a.1", "DET_AGENT_ID": "agent"}
NOBODYS = "255.255.255.255"
"""No machine connects to all at once: each refuses by itself, before any time is over."""


class Gathering:
    """A master's all-gather among threads, and its clock."""

    def __init__(self, peers: int, ahead_s: float = 0.0) -> None:
        self._barrier = threading.Barrier(peers, timeout=60)
        self._round: list[Any] = []
        self._lock = threading.Lock()
        self._ahead_s = ahead_s

    def get(self, path: str) -> Any:
        assert path == "/info"
        date = formatdate(time.time() - self._ahead_s, usegmt=True)
        return SimpleNamespace(headers={"date": date})

    def post(self, path: str, json: Any, timeout: float) -> Any:
        assert path.endswith("/all_gather")
        with self._lock:
            self._round.append(json["data"])
        self._barrier.wait()
        everyone = list(self._round)
        if self._barrier.wait() == 0:
            self._round.clear()
        self._barrier.wait()
        return SimpleNamespace(json=lambda: {"data": everyone})


def run_gang(addresses: list[str]) -> dict[int, str]:
    """Check a gang of threads; what each rank failed with."""
    session, failed = Gathering(len(addresses)), {}

    def run(rank: int) -> None:
        met = {"container_rank": rank, "container_addrs": addresses}
        try:
            preflight.check_gang(session, ENV, met)  # type: ignore[arg-type]  # stands for one
        except EntryFailed as error:
            failed[rank] = str(error)

    threads = [threading.Thread(target=run, args=(rank,)) for rank in range(len(addresses))]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    return failed


@pytest.fixture(autouse=True)
def ports(monkeypatch: pytest.MonkeyPatch) -> None:
    """Ports of the chief that nobody else uses."""
    for name in (
        "C10D_PORT",
        "INTER_TRAIN_PROCESS_COMM_PORT_1",
        "INTER_TRAIN_PROCESS_COMM_PORT_2",
    ):
        monkeypatch.setattr(preflight._constants, name, free_port())


def test_a_gang_whose_containers_reach_each_other_passes(
    capfd: pytest.CaptureFixture[str],
) -> None:
    assert run_gang(["127.0.0.1", "127.0.0.1", "127.0.0.1"]) == {}
    assert capfd.readouterr().err.count("all 3 containers reach each other") == 3


def test_a_pair_that_does_not_is_named_to_all_of_the_gang() -> None:
    failed = run_gang(["127.0.0.1", NOBODYS])
    assert set(failed) == {0, 1}
    assert failed[0] == failed[1]
    assert f"container 0 cannot reach container 1 on agent agent at {NOBODYS}:" in failed[0]
    assert "container 1 cannot reach" not in failed[0]
    assert "Open all TCP ports between agents" in failed[0]


def test_a_port_of_the_chief_that_is_taken_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    with socket.create_server(("", 0)) as taken:
        port = taken.getsockname()[1]
        monkeypatch.setattr(preflight._constants, "C10D_PORT", port)
        with pytest.raises(
            EntryFailed, match=rf"port {port} \(C10D_PORT\) of the chief's machine"
        ):
            preflight.check_ports_free("10.0.0.1")


def test_a_container_that_sees_fewer_gpus_than_its_slots_is_stopped() -> None:
    env = {**ENV, "DET_SLOT_TYPE": "cuda", "DET_SLOT_IDS": "[0,1]"}
    with pytest.raises(EntryFailed, match=r"has 2 cuda slots of agent agent and nvidia-smi lists"):
        preflight.check_accelerators(env, Accelerators("cuda", ["one"]))
    preflight.check_accelerators(env, Accelerators("cuda", ["one", "two"]))
    preflight.check_accelerators({**env, "DET_SLOT_TYPE": "cpu"}, Accelerators("cpu", []))


def test_small_shared_memory_is_an_error_with_the_option(
    tmp_path: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    preflight.check_shared_memory(str(tmp_path / "not there"))
    monkeypatch.setattr(preflight, "SHM_BYTES", 2**62)
    with pytest.raises(EntryFailed, match=r"set resources\.shm_size"):
        preflight.check_shared_memory(str(tmp_path))


def test_a_clock_an_hour_off_is_an_error_and_one_of_a_minute_a_warning(
    capfd: pytest.CaptureFixture[str],
) -> None:
    with pytest.raises(EntryFailed, match=r"is 3[56]\d\d s ahead of the master's: synchronize it"):
        preflight.check_clock(Gathering(1, 3600))  # type: ignore[arg-type]  # stands for one
    preflight.check_clock(Gathering(1, -60))  # type: ignore[arg-type]  # stands for one
    said = capfd.readouterr().err
    assert "WARNING" in said
    assert "s behind the master's" in said
    preflight.check_clock(Gathering(1))  # type: ignore[arg-type]  # stands for one
    assert capfd.readouterr().err == ""
