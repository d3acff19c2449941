"""A small clone, from which packages are built: a part of each directory that they take.

pyproject.toml names directories, so a few modules of a package show what becomes of all. A build
of the whole sources takes several seconds of a core. `tests/installed.sh` installs and runs that.
"""

from __future__ import annotations

import shutil
import tomllib
from pathlib import Path

from tests.web_ui_files import write_web_ui

ROOT = Path(__file__).parents[1]
WEB_UI = Path("src/determined_master/webui")
_PAGES = Path("src/determined_master/api/webui")
"""Sources in a directory that is named like one that git ignores."""
_NOT_COPIED = shutil.ignore_patterns("__pycache__", "pictures")


def write_packaged_tree(root: Path) -> Path:
    """Write it into a directory, with a small web UI that git ignores; the directory."""
    for name in ("pyproject.toml", "README.md", "LICENSE", ".gitignore"):
        _copy(Path(name), root)
    with (ROOT / "pyproject.toml").open("rb") as file:
        build = tomllib.load(file)["tool"]["hatch"]["build"]
    wheel = build["targets"]["wheel"]
    modules = [path for name in wheel["packages"] for path in (ROOT / name).glob("*.py")]
    forced, hook = map(Path, wheel["force-include"]), Path(build["hooks"]["custom"]["path"])
    for path in (*(path.relative_to(ROOT) for path in modules), *forced, hook, _PAGES):
        _copy(path, root)
    write_web_ui(root / WEB_UI)
    return root


def _copy(name: Path, root: Path) -> None:
    (root / name).parent.mkdir(parents=True, exist_ok=True)
    if (ROOT / name).is_dir():
        shutil.copytree(ROOT / name, root / name, ignore=_NOT_COPIED)
    else:
        shutil.copy(ROOT / name, root / name)
