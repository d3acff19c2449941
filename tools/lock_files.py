"""The lock files in requirements/: their list, their form, and what they were made from."""

from __future__ import annotations

import hashlib
import json
import re
import tomllib
from collections.abc import Iterator
from datetime import UTC, date, datetime
from pathlib import Path
from typing import Any, NamedTuple

ROOT = Path(__file__).parent.parent
FOLDER = Path("requirements")
PYPROJECT = Path("pyproject.toml")
RELEASES = ("3.11", "3.12", "3.13")
MACHINES = ("x86_64", "aarch64")

WHOLE = "all"
LOCKS: dict[str, tuple[str, ...]] = {
    WHOLE: ("--all-extras", "--group", "build"),
    "dev": ("--extra", "dev", "--group", "build"),
    "agent": ("--extra", "agent", "--extra", "storage"),
    "master": ("--extra", "master", "--extra", "storage", "--extra", "kubernetes"),
    "build": ("--only-group", "build"),
    "fuzz": ("--only-group", "fuzz"),
    "install": ("--only-group", "install"),
    "lock": ("--only-group", "lock"),
    "mutants": ("--only-group", "mutants"),
    "task": ("--only-group", "task"),
}
"""By name: the extras and groups of pyproject.toml that a lock file holds.

The first holds all extras; the others use its versions where they have the same packages.
"""
_PIN = re.compile(r"([A-Za-z0-9][\w.-]*)==([^\s;\\]+)(?: ; ([^\\\n]+?))?(?: \\)?(?:\n|\Z)")
_MADE = re.compile(r"# made: (\d{4}-\d{2}-\d{2})")
_INPUTS = re.compile(r"# inputs: ([0-9a-f]{64})")


class Pin(NamedTuple):
    """One version of a package, for the environments that the marker names."""

    name: str
    version: str
    marker: str
    hashes: tuple[str, ...]
    """SHA-256 of each file of that release."""
    needed_by: tuple[str, ...]
    """Names of packages; `determined-platform` for the project itself."""


class LockFile(NamedTuple):
    name: str
    made: date
    inputs: str
    pins: tuple[Pin, ...]


def today() -> date:
    """The day, in UTC."""
    return datetime.now(UTC).date()


class UnreadableLock(Exception):
    """A lock file lacks something; the text names it and the remedy."""


def path_of(name: str, root: Path = ROOT) -> Path:
    return root / FOLDER / f"{name}.txt"


def digest_of_inputs(root: Path = ROOT) -> str:
    """SHA-256 of everything in pyproject.toml that decides what is installed."""
    document = tomllib.loads((root / PYPROJECT).read_text())
    project: dict[str, Any] = document["project"]
    parts = [
        project["requires-python"],
        project["dependencies"],
        project["optional-dependencies"],
        document["dependency-groups"],
        document["build-system"]["requires"],
    ]
    return hashlib.sha256(json.dumps(parts, sort_keys=True).encode()).hexdigest()


def head_of(made: date, inputs: str) -> str:
    """The first lines of a lock file."""
    releases = f"{RELEASES[0]} to {RELEASES[-1]}"
    return (
        "# Made by `make lock` from pyproject.toml; do not edit.\n"
        f"# For Python {releases} on Linux ({', '.join(MACHINES)}).\n"
        f"# made: {made.isoformat()}\n"
        f"# inputs: {inputs}\n"
    )


def read_lock(name: str, root: Path = ROOT) -> LockFile:
    """Raises UnreadableLock if it is missing, or is not what `make lock` writes."""
    path = path_of(name, root)
    try:
        text = path.read_text()
    except FileNotFoundError:
        raise UnreadableLock(f"{path} is missing: run `make lock`") from None
    made, inputs = _MADE.search(text), _INPUTS.search(text)
    if made is None or inputs is None:
        raise UnreadableLock(
            f"{path} does not say when and from what it was made: run `make lock`"
        )
    pins = tuple(_pins(path, text))
    return LockFile(name, date.fromisoformat(made[1]), inputs[1], pins)


def _pins(path: Path, text: str) -> Iterator[Pin]:
    """One for each block: a line that is not indented, and the indented lines below it."""
    for block in re.split(r"\n(?=[^\s#])", text)[1:]:
        found = _PIN.match(block)
        if found is None:
            line = block.partition("\n")[0]
            raise UnreadableLock(
                f"{path} has the line {line!r}, which pins nothing: run `make lock`"
            )
        hashes = tuple(re.findall(r"--hash=sha256:([0-9a-f]{64})", block))
        yield Pin(found[1], found[2], found[3] or "", hashes, tuple(_parents(block)))


def _parents(block: str) -> Iterator[str]:
    """The names after `# via`, on its line or below it; constraints are not among them."""
    _, _, below = block.partition("# via")
    for line in below.splitlines():
        name = line.strip(" #").split(" ")[0]
        if name and name != "-c":
            yield name
