"""Reads what a daemon reports about one container: whether it runs, its end, its addresses."""

from __future__ import annotations

from typing import Any

from determined_agent.container.directory import Exit
from determined_agent.runtimes.docker.api import DockerApi, DockerApiError, Request
from determined_agent.runtimes.docker.output import TimestampParser
from determined_wire.agent_link import Address, Failure, OutOfMemory

ENDED_WITH_DAEMON = (
    "the container ended while Docker's daemon was down: set live-restore in "
    "/etc/docker/daemon.json and containers outlive it"
)

_ENDED_WITH_DAEMON = (137, 143, 255)
"""Exit codes of containers that a stopping daemon ended, or a starting one found ended."""


async def inspect(api: DockerApi, docker_id: str) -> dict[str, Any] | None:
    """Return Docker's report about a container; None if it does not exist.

    Raises:
        DockerUnreachable: no answer in time.
        DockerApiError: any other error.
    """
    try:
        answer = await api.call(Request(method="GET", path=f"/containers/{docker_id}/json"))
    except DockerApiError as error:
        if error.status == 404:
            return None
        raise
    return dict(answer)


def is_running(inspection: dict[str, Any]) -> bool:
    """Whether its program is running or paused."""
    return bool(inspection["State"].get("Running"))


def is_being_removed(inspection: dict[str, Any] | None) -> bool:
    """Whether someone else has ordered its removal, which also determines its exit code."""
    return inspection is not None and inspection["State"].get("Status") == "removing"


def has_no_network(inspection: dict[str, Any]) -> bool:
    """Whether it runs on the default bridge without an address."""
    if not is_running(inspection) or inspection["HostConfig"].get("NetworkMode") not in (
        "bridge",
        "default",
    ):
        return False
    networks = (inspection.get("NetworkSettings") or {}).get("Networks") or {}
    return not any(network.get("IPAddress") for network in networks.values())


def exit_of(
    inspection: dict[str, Any], dropped_lines: int, *, daemon_was_down: bool = False
) -> Exit:
    """Return how a container has ended.

    Args:
        inspection: the daemon's report about it.
        dropped_lines: lines that were dropped and not yet noted.
        daemon_was_down: whether it ended while the daemon did not answer. If a signal ended it
            then, it ended with the daemon, and that does not count as a failure of the task.
    """
    state = inspection["State"]
    code = int(state.get("ExitCode") or 0)
    message = f"container failed with non-zero exit code: {code}"
    if is_out_of_memory(inspection):
        message += (
            " (the kernel killed it for lack of memory: give the task or the machine more, or "
            "make its batches smaller)"
        )
    elif state.get("Error"):
        message += f" ({state['Error']})"
    failure = Failure("container_failed", message, code, _memory(inspection)) if code else None
    if daemon_was_down and code in _ENDED_WITH_DAEMON and not is_out_of_memory(inspection):
        failure = Failure("restore_error", f"{ENDED_WITH_DAEMON} (exit code {code})", code)
    return Exit(
        exit_code=code, failure=failure, ended_us=ended_us(inspection), dropped_lines=dropped_lines
    )


def is_out_of_memory(inspection: dict[str, Any]) -> bool:
    """Return whether the kernel ended a container for its memory: its own fault."""
    return bool(inspection["State"].get("OOMKilled"))


def _memory(inspection: dict[str, Any]) -> OutOfMemory | None:
    if not is_out_of_memory(inspection):
        return None
    limit = (inspection.get("HostConfig") or {}).get("Memory") or 0
    return OutOfMemory(limit_bytes=max(0, int(limit)))


def ended_us(inspection: dict[str, Any]) -> int:
    """Return when a container ended, in microseconds since 1970; 0 if unknown."""
    finished = str(inspection["State"].get("FinishedAt") or "")
    return max(0, TimestampParser().parse(finished.encode())) if finished[:4] > "0001" else 0


def addresses_of(inspection: dict[str, Any], ports: tuple[int, ...]) -> tuple[Address, ...]:
    """Return a container's published ports; an empty host stands for the agent's machine."""
    if (inspection.get("HostConfig") or {}).get("NetworkMode") == "host":
        return tuple(Address("", port, "", port) for port in ports)
    network = inspection.get("NetworkSettings") or {}
    own = network.get("IPAddress") or next(
        (n.get("IPAddress") or "" for n in (network.get("Networks") or {}).values()), ""
    )
    bindings = network.get("Ports") or {}
    return tuple(
        Address(own, port, _host_ip(bound), int(bound["HostPort"]))
        for port in ports
        for bound in _first_binding(bindings.get(f"{port}/tcp"))
    )


def _first_binding(bound: list[dict[str, str]] | None) -> list[dict[str, str]]:
    """Prefer IPv4; both lead to the same port."""
    by_four = [b for b in bound or () if ":" not in b.get("HostIp", "")]
    return (by_four or bound or [])[:1]


def _host_ip(bound: dict[str, str]) -> str:
    info = bound.get("HostIp", "")
    return "" if info in ("0.0.0.0", "::") else info
