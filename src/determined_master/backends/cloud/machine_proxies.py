"""The part of a start script that has the machine's own downloads use the pool's proxies. Pure.

These are Docker's pulls, and packages that the script installs. A proxy's address may have a
password, so the script prints none, and only root reads the files.
"""

from __future__ import annotations

import shlex
from collections.abc import Iterator, Mapping
from typing import Any

NAMES = ("http_proxy", "https_proxy", "ftp_proxy", "no_proxy")
"""Options of the agent's file, and variables of most programs."""

_USE = r"""
. "$place/proxies"
root=${DETERMINED_ROOT:-}
unit=$root/etc/systemd/system/docker.service.d/determined-proxy.conf
if [ -d "$root/run/systemd/system" ] && ! cmp -s "$place/docker_proxies" "$unit"; then
    mkdir -p "${unit%/*}"
    cp "$place/docker_proxies" "$unit"
    said=$(systemctl daemon-reload 2>&1 && systemctl try-restart docker 2>&1) ||
        fail "Docker could not be restarted with the pool's proxies" "$said"
fi
"""


def proxies_of(agent_config: Mapping[str, Any]) -> tuple[tuple[str, str], ...]:
    """The proxies that an agent's file names, by the names of variables."""
    proxies = ((name, str(agent_config.get(name) or "")) for name in NAMES)
    return tuple((name, value) for name, value in proxies if value)


def files(proxies: tuple[tuple[str, str], ...]) -> Iterator[tuple[str, str]]:
    """The files that `use` reads: name and content."""
    exports = "".join(f"export {name}={shlex.quote(value)}\n" for name, value in proxies)
    yield "proxies", exports
    lines = (f'Environment="{name.upper()}={_escaped(value)}"\n' for name, value in proxies)
    yield "docker_proxies", "[Service]\n" + "".join(lines)


def use() -> str:
    """Shell commands after which the script and Docker use them."""
    return _USE


def _escaped(value: str) -> str:
    """A value between quotation marks of a systemd unit."""
    return value.replace("\\", "\\\\").replace('"', '\\"').replace("%", "%%")
