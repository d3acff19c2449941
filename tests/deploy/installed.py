"""A directory of installed packages, as pip would make it, from those that the tests run with."""

from __future__ import annotations

import re
import shutil
import tomllib
from importlib import metadata
from pathlib import Path

from tests.web_ui_files import write_web_ui

from determined_wire.wheel import WEB_UI

ROOT = Path(__file__).parents[2]
_HOUSES = ("determined", "determined_wire", "determined_master", "determined_agent")


def install(target: Path, *extras: str) -> None:
    """Copy our packages, and what those extras of theirs need, into a new directory."""
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
    wanted = [*project["dependencies"]]
    for extra in extras:
        wanted += project["optional-dependencies"][extra]
    target.mkdir()
    done: set[str] = set()
    for requirement in wanted:
        _copy(requirement, target, done)
    for house in _HOUSES:
        shutil.copytree(ROOT / "src" / house, target / house)
    if not (target / WEB_UI).exists():  # this checkout has none
        write_web_ui((target / WEB_UI).parent)


def install_others(target: Path, *names: str) -> None:
    """Copy distributions, and what they need, into a new directory."""
    target.mkdir()
    done: set[str] = set()
    for name in names:
        _copy(name, target, done)


def _copy(requirement: str, target: Path, done: set[str]) -> None:
    """One distribution and what it needs; what only another extra needs is not installed."""
    name = re.split(r"[^A-Za-z0-9._-]", requirement, maxsplit=1)[0].lower()
    if name in done:
        return
    done.add(name)
    try:
        found = metadata.distribution(name)
    except metadata.PackageNotFoundError:
        return
    for file in found.files or ():
        source = Path(str(found.locate_file(file)))
        if file.parts[0] != ".." and source.is_file():
            place = target / file
            place.parent.mkdir(parents=True, exist_ok=True)
            shutil.copy2(source, place)  # the time too: what is compiled goes by it
    for needed in found.requires or ():
        if "extra ==" not in needed:
            _copy(needed, target, done)
