"""Networks of the tests' own, which nothing on this machine has."""

from __future__ import annotations

import contextlib
import random
import shutil
import subprocess
from collections.abc import Iterator
from typing import NamedTuple

from tests.watchdog import remove_interface


class CannotBridge(Exception):
    """This machine makes no bridges; the text says why."""


class Bridge(NamedTuple):
    """A bridge, and the first three numbers of the addresses on it."""

    name: str
    net: str


@contextlib.contextmanager
def bridge(name: str) -> Iterator[Bridge]:
    """A bridge of the tests' own, which no packet filter knows. Raises CannotBridge."""
    net = free_subnet("172.29")
    commands = (
        ("ip", "link", "add", name, "type", "bridge"),
        ("ip", "address", "add", f"{net}.1/24", "dev", name),
        ("ip", "link", "set", name, "up"),
    )
    try:
        if shutil.which("ip") is None:
            raise CannotBridge("ip is not installed (Debian's package iproute2)")
        for command in commands:
            done = subprocess.run(command, capture_output=True, text=True, check=False)
            if done.returncode:
                raise CannotBridge(f"{' '.join(command)}: {done.stderr.strip()}")
        yield Bridge(name, net)
    finally:
        remove_interface(name)


def free_subnet(first: str) -> str:
    """The first three numbers of a network whose first two are these, drawn by lot.

    Whoever runs the same tests on this machine at the same time draws another one.
    """
    told = ""
    if shutil.which("ip") is not None:
        command = ["ip", "-o", "-4", "address"]
        told = subprocess.run(command, capture_output=True, text=True, check=False).stdout
    for number in random.SystemRandom().sample(range(256), 256):
        if f" {first}.{number}." not in told:
            return f"{first}.{number}"
    raise AssertionError(f"every network of {first} is taken")
