"""A network namespace of its own for an agent, whose packets can be dropped. Needs root."""

from __future__ import annotations

import os
import shutil
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from tests.subnets import free_subnet

_PREFIX = "det-test-"


class CannotRun(Exception):
    """This machine gives us no network of our own; the text says why."""


class Namespace:
    """A machine's network, one cable away from ours. What it drops, nobody else notices."""

    def __init__(self) -> None:
        number = os.getpid()
        self.name = f"{_PREFIX}{number}"
        self._cable = f"dt{number % 10**8}"
        subnet = free_subnet("198.18")
        self.here, self.there = f"{subnet}.1", f"{subnet}.2"
        """Our address on the cable, and its."""

    @property
    def prefix(self) -> tuple[str, ...]:
        """Runs a command in it."""
        return ("ip", "netns", "exec", self.name)

    def make(self) -> None:
        """Make it. Raises CannotRun."""
        if os.getuid() != 0:
            raise CannotRun("a network namespace needs root")
        for program in ("ip", "iptables"):
            if shutil.which(program) is None:
                raise CannotRun(f"{program} is not installed (Debian's iproute2 and iptables)")
        inner = f"{self._cable}n"
        try:
            _run("ip", "netns", "add", self.name)
            _run("ip", "link", "add", self._cable, "type", "veth", "peer", "name", inner)
            _run("ip", "link", "set", inner, "netns", self.name)
            _run("ip", "addr", "add", f"{self.here}/30", "dev", self._cable)
            _run("ip", "link", "set", self._cable, "up")
            _run(*self.prefix, "ip", "addr", "add", f"{self.there}/30", "dev", inner)
            _run(*self.prefix, "ip", "link", "set", inner, "up")
            _run(*self.prefix, "ip", "link", "set", "lo", "up")
        except subprocess.CalledProcessError as error:
            self.remove()
            said = error.stderr.decode().strip()
            raise CannotRun(f"no network namespace can be made here: {said}") from error

    @contextmanager
    def dropping(self, share: float) -> Iterator[None]:
        """Drop a share of the packets of both directions, 1 for all of them."""
        chance = ("-m", "statistic", "--mode", "random", "--probability", f"{share:g}")
        rules = [
            (chain, *way, "lo", *(chance if share < 1 else ()), "-j", "DROP")
            for chain, way in (("INPUT", ("!", "-i")), ("OUTPUT", ("!", "-o")))
        ]
        for rule in rules:
            _run(*self.prefix, "iptables", "-A", *rule)
        try:
            yield
        finally:
            for rule in rules:
                _run(*self.prefix, "iptables", "-D", *rule)

    def dropped(self) -> int:
        """How many packets the rules of `dropping` have dropped so far."""
        done = subprocess.run(
            [*self.prefix, "iptables", "-L", "-v", "-x", "-n"],
            check=True,
            capture_output=True,
            text=True,
            timeout=20,
        )
        return sum(int(line.split()[0]) for line in done.stdout.splitlines() if " DROP " in line)

    def remove(self) -> None:
        """Remove it, and the cable."""
        for command in (("link", "del", self._cable), ("netns", "del", self.name)):
            subprocess.run(["ip", *command], capture_output=True, check=False)


@contextmanager
def namespace() -> Iterator[Namespace]:
    """One that is gone at the end. Raises CannotRun."""
    _remove_orphans()
    made = Namespace()
    made.make()
    try:
        yield made
    finally:
        made.remove()


def _remove_orphans() -> None:
    """Namespaces of runs that were killed."""
    for path in Path("/run/netns").glob(f"{_PREFIX}*"):
        owner = path.name.removeprefix(_PREFIX)
        if os.getuid() == 0 and not Path(f"/proc/{owner}").exists():
            subprocess.run(["ip", "netns", "del", path.name], capture_output=True, check=False)


def _run(*command: str) -> None:
    subprocess.run(command, check=True, capture_output=True, timeout=20)
