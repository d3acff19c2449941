"""Addresses of agents and of their containers: an agent may only name its own.

The master connects to these addresses for users (the proxy), so an agent must not be able to send
it to other machines, to the master's own loopback or to a cloud's metadata service. PURE.
"""

from __future__ import annotations

import ipaddress

from msgspec.structs import replace

from determined_wire.agent_link import Address, ContainerReport


def shown_address(remote_address: str, agent_hostname: str, own_hostname: str) -> str:
    """The address at which other machines reach an agent.

    Usually the address that the master sees. An agent on loopback with another host name than the
    master's connected through a tunnel or a container's network; then its host name is used.
    """
    try:
        is_loopback = ipaddress.ip_address(remote_address).is_loopback
    except ValueError:
        is_loopback = False
    if is_loopback and agent_hostname and agent_hostname != own_hostname:
        return agent_hostname
    return remote_address


def find_problem(advertised: str, remote_address: str) -> str | None:
    """The reason why an agent may not advertise an address; None for a possible one.

    Args:
        advertised: an IP address or a host name; empty for none.
        remote_address: of the agent's connection.
    """
    if not advertised or _is_loopback(remote_address):
        return None
    found = _ip(advertised)
    is_own_machine = advertised == "localhost" or _is_loopback(advertised)
    if is_own_machine or (
        found is not None and (found.is_link_local or found.is_unspecified or found.is_multicast)
    ):
        return (
            f"advertised_address {advertised} does not lead from the master to this agent, which "
            f"connects from {remote_address}: set the address at which others reach the machine"
        )
    return None


def with_own_addresses(report: ContainerReport, agent: str) -> tuple[ContainerReport, list[str]]:
    """A report whose addresses are all of its agent, and the foreign ones that were dropped.

    Args:
        report: addresses without a host get that of the agent.
        agent: the agent's address.
    """
    if not report.addresses:
        return report, []
    own = [a for a in report.addresses if _is_own(a, agent)]
    foreign = [a.host_ip for a in report.addresses if not _is_own(a, agent)]
    filled = tuple(
        replace(a, host_ip=a.host_ip or agent, container_ip=a.container_ip or agent) for a in own
    )
    return replace(report, addresses=filled), foreign


def _is_own(address: Address, agent: str) -> bool:
    host = address.host_ip
    is_same = not host or host == agent or (_is_loopback(host) and _is_loopback(agent))
    return is_same and 0 < address.host_port < 65536


def _is_loopback(address: str) -> bool:
    found = _ip(address)
    return found is not None and found.is_loopback


def _ip(address: str) -> ipaddress.IPv4Address | ipaddress.IPv6Address | None:
    try:
        return ipaddress.ip_address(address)
    except ValueError:
        return None
