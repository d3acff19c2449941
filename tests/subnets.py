"""Networks of the tests' own, which nothing on this machine has."""

from __future__ import annotations

import random
import shutil
import subprocess


def free_subnet(first: str) -> str:
    """The first three numbers of a network whose first two are these, drawn by lot.

    Whoever runs the same tests on this machine at the same time draws another one.
    """
    told = ""
    if shutil.which("ip") is not None:
        command = ["ip", "-o", "-4", "address"]
        told = subprocess.run(command, capture_output=True, text=True, check=False).stdout
    for number in random.sample(range(256), 256):
        if f" {first}.{number}." not in told:
            return f"{first}.{number}"
    raise AssertionError(f"every network of {first} is taken")
