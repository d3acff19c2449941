"""A provider whose machines are agents on this machine: processes in place of a cloud.

What the cloud knows is a file, so that machines outlive the master that started them. A machine
boots once the file `gate` is there.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Sequence
from contextlib import suppress
from datetime import datetime
from pathlib import Path
from typing import Any

import psutil

from determined_master import clock
from determined_master.composition import machine_providers
from determined_master.domain.machines.offers import Choice, Offer, OfferReport
from determined_master.domain.machines.scaling import Machine, MachineType
from determined_master.ports.machines import MachineSite
from determined_master.provision.loop import MachineLoop
from determined_master.settings.providers import kinds as settings_providers
from determined_master.settings.providers.provider import Provider

TICK_S = 1.0
"""Between looks at the machines: a cloud is asked less often."""
BOOT = 'until [ -e "$0" ]; do sleep 0.1; done; exec "$@"'


class LocalMachines:
    """Implements `ports.MachineProvider`."""

    def __init__(self, root: Path, site: MachineSite) -> None:
        self._cloud = Cloud(root)
        self._site = site
        self._running: list[subprocess.Popen[bytes]] = []

    @property
    def type(self) -> MachineType:
        """One slot that is made up."""
        return MachineType(slots=1, device_type="cpu", location="here")

    async def open(self) -> None:
        """Nothing is to be found out."""

    async def list_machines(self) -> Sequence[Machine]:
        """The machines of the file; those without a process have stopped."""
        known = self._cloud.machines()
        return [_machine(m, _process(m) is not None) for m in known]

    def offers(self) -> OfferReport:
        """One."""
        return OfferReport(choice=Choice(offers=(Offer(machine_type="local"),)))

    async def launch(
        self, count: int, token: str, *, is_repeated: bool = False
    ) -> Sequence[Machine]:
        """Start agents, once for a token."""
        known = self._cloud.machines()
        mine = [m for m in known if m["token"] == token]
        if not mine:
            number = self._cloud.count(count)
            mine = [
                {"id": f"local-{n}", "token": token, "launched_at": clock.now().isoformat()}
                | self._boot(f"local-{n}")
                for n in range(number, number + count)
            ]
            self._cloud.keep([*known, *mine])
        return [_machine(m, True) for m in mine]

    async def terminate(self, machine_ids: Sequence[str]) -> None:
        """End agents."""
        self._cloud.end(machine_ids)
        for process in self._running:
            process.poll()

    async def close(self) -> None:
        """The machines run on."""

    def _boot(self, id: str) -> dict[str, Any]:
        """Start a machine; by what its process is known."""
        root = self._cloud.root
        agent = (
            *(sys.executable, "-m", "determined_agent.main", "run"),
            *("--master-host", "127.0.0.1", "--master-port", str(self._site.master_port)),
            *("--agent-id", id, "--work-dir", str(root / "agents"), "--artificial-slots", "1"),
            *("--resource-pool", self._site.pool, "--container-runtime", "process"),
            f"--join-token={self._site.join_token}",
        )
        with (root / f"{id}.log").open("ab") as log:
            process = subprocess.Popen(
                ["sh", "-c", BOOT, str(root / "gate"), *agent],
                stdout=log,
                stderr=log,
                env={k: v for k, v in os.environ.items() if not k.startswith("DET_")},
                start_new_session=True,
            )
        self._running.append(process)
        return {"pid": process.pid, "began": psutil.Process(process.pid).create_time()}


class Cloud:
    """What there is, in a file; for tests as well."""

    def __init__(self, root: Path) -> None:
        self.root = root
        self._file = root / "machines.json"

    def machines(self) -> list[dict[str, Any]]:
        """The machines that are there, in the order of their launch."""
        return list(self._read()["machines"])

    @property
    def launched(self) -> int:
        """How many machines there ever were."""
        return int(self._read()["launched"])

    def open_gate(self) -> None:
        """Let machines boot."""
        (self.root / "gate").touch()

    def count(self, more: int) -> int:
        """Take numbers; the first of them."""
        known = self._read()
        self._write({**known, "launched": known["launched"] + more})
        return int(known["launched"])

    def keep(self, machines: list[dict[str, Any]]) -> None:
        """Let these be there."""
        self._write({**self._read(), "machines": machines})

    def end(self, ids: Sequence[str]) -> None:
        """End machines, with all that runs on them."""
        for machine in self.machines():
            process = _process(machine)
            if machine["id"] in ids and process is not None:
                with suppress(psutil.NoSuchProcess):
                    process.kill()
        self.keep([m for m in self.machines() if m["id"] not in ids])

    def _read(self) -> dict[str, Any]:
        if not self._file.exists():
            return {"machines": [], "launched": 0}
        content: dict[str, Any] = json.loads(self._file.read_text())
        return content

    def _write(self, content: dict[str, Any]) -> None:
        draft = self._file.with_suffix(".draft")
        draft.write_text(json.dumps(content))
        draft.replace(self._file)


def _process(known: dict[str, Any]) -> psutil.Process | None:
    """What runs a machine; None when it has ended.

    Not by its command line, which is empty for a moment when the agent takes the shell's place.
    """
    with suppress(psutil.NoSuchProcess):
        process = psutil.Process(known["pid"])
        is_it = process.create_time() == known["began"]
        return process if is_it and process.status() != psutil.STATUS_ZOMBIE else None
    return None


def _machine(known: dict[str, Any], is_alive: bool) -> Machine:
    return Machine(
        id=known["id"],
        agent_name=known["id"],
        state="running" if is_alive else "stopped",
        launched_at=datetime.fromisoformat(known["launched_at"]),
    )


def offer(root: Path) -> None:
    """Make `type: local` a provider of this process's master, and have it look often."""
    MachineLoop.__init__.__kwdefaults__["tick_s"] = TICK_S
    settings_providers.PROVIDERS["local"] = settings_providers.ProviderType(Provider)
    machine_providers.MACHINE_PROVIDERS["local"] = lambda settings, site: LocalMachines(root, site)
