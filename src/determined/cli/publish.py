"""`-p/--publish`: forwards local ports to ports of a task while the command runs."""

from __future__ import annotations

import contextlib
from typing import Any, Dict, Iterator, List, NamedTuple, Sequence

from determined.cli import declare, errors
from determined.cli.declare import Arg, arg
from determined.common import config_text
from determined.common.api import Session, tunnels
from determined.common.api.certs import Cert


class PublishedPort(NamedTuple):
    """A port of a task and the local port that forwards to it."""

    local: int
    port: int


def argument(of_what: str) -> Arg:
    """The option `-p/--publish`; `of_what` names the owner of the ports in its help."""
    return arg(
        "-p",
        "--publish",
        action="append",
        default=[],
        metavar="[LOCAL:]PORT",
        help=f"forward a port of this machine to a port of {of_what}",
    )


def parse(texts: Sequence[str]) -> List[PublishedPort]:
    """Parse `PORT` and `LOCAL:PORT`; a local port of 0 selects any free port.

    Raises:
        CliError: a text has another form, or a port occurs twice.
    """
    published = [_parsed(text) for text in texts]
    for name, ports in (
        ("port", [p.port for p in published]),
        ("local port", [p.local for p in published if p.local]),
    ):
        twice = sorted({p for p in ports if ports.count(p) > 1})
        if twice:
            raise errors.CliError(f"--publish names {name} {twice[0]} twice: publish it once")
    return published


def with_ports(config: str, ports: Sequence[PublishedPort]) -> str:
    """A config with the published ports added to its proxy ports, as raw TCP tunnels.

    Raises:
        CliError: the config declares one of these ports already, for HTTP.
    """
    if not ports:
        return config
    loaded = config_text.load(config, "config")
    add(loaded, ports)
    return config_text.dump(loaded)


def add(config: Dict[str, Any], ports: Sequence[PublishedPort]) -> None:
    """Add the published ports to the proxy ports of a config. The master validates the config.

    Raises:
        CliError: the config declares one of these ports already, for HTTP.
    """
    if not ports:
        return
    environment = config.get("environment")
    if environment is None:
        environment = config["environment"] = {}
    if not isinstance(environment, dict):
        return
    declared = environment.get("proxy_ports") or []
    if isinstance(declared, list):
        environment["proxy_ports"] = [*declared, *_missing(declared, ports)]


@contextlib.contextmanager
def open_ports(session: Session, task_id: str, ports: Sequence[PublishedPort]) -> Iterator[None]:
    """Listen on the local ports while the context is open.

    Raises:
        CliError: one of them is in use.
    """
    way = tunnels.Way(session.master, session.cert or Cert(), session.token)
    with contextlib.ExitStack() as stack:
        for published in ports:
            listener = _listen(way, f"{task_id}:{published.port}", published)
            stack.callback(listener.close)
            print(
                f"Port {published.port} of the task is available at 127.0.0.1:{listener.port}",
                flush=True,
            )
        yield


def _listen(way: tunnels.Way, service: str, published: PublishedPort) -> tunnels.Listener:
    try:
        return tunnels.Listener(way, service, published.local, declare.warn)
    except OSError as error:
        raise errors.CliError(
            f"port {published.local} of this machine cannot be opened: {error.strerror}; "
            f"choose another with --publish LOCAL:{published.port}"
        ) from None


def _parsed(text: str) -> PublishedPort:
    local, colon, port = text.rpartition(":")
    numbers = [port, *([local] if colon else [])]
    if not all(n.isascii() and n.isdigit() and len(n) < 10 for n in numbers):
        raise errors.CliError(f"--publish {text}: give PORT or LOCAL:PORT, such as 8080:80")
    parsed = PublishedPort(int(local) if colon else int(port), int(port))
    if not 0 < parsed.port < 65536 or parsed.local > 65535:
        raise errors.CliError(f"--publish {text}: ports are 1 to 65535")
    return parsed


def _missing(declared: Any, ports: Sequence[PublishedPort]) -> List[Any]:
    own = {d.get("proxy_port"): d for d in declared if isinstance(d, dict)}
    for published in ports:
        there = own.get(published.port)
        if there is not None and not there.get("proxy_tcp"):
            raise errors.CliError(
                f"port {published.port} is in environment.proxy_ports as HTTP, but --publish "
                "needs a TCP tunnel: set its proxy_tcp to true, or publish another port"
            )
    return [{"proxy_port": p.port, "proxy_tcp": True} for p in ports if p.port not in own]
