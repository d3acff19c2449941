"""The packages that an installation brings."""

from __future__ import annotations

import tomllib
from importlib.metadata import requires
from pathlib import Path

from packaging.requirements import Requirement

ROOT = Path(__file__).parents[2]
MAX_PACKAGES = 5


def brought_by(names: list[str]) -> set[str]:
    """All packages that these requirements install here, with those that they need."""
    found: set[str] = set()
    waiting = [Requirement(name) for name in names]
    while waiting:
        wanted = waiting.pop()
        if wanted.name in found or not (
            wanted.marker is None or wanted.marker.evaluate({"extra": ""})
        ):
            continue
        found.add(wanted.name)
        waiting += [Requirement(text) for text in requires(wanted.name) or ()]
    return found


def test_the_client_brings_few_packages() -> None:
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
    packages = brought_by(project["dependencies"])
    assert {"urllib3", "ruamel.yaml"} <= packages
    assert len(packages) <= MAX_PACKAGES, sorted(packages)
