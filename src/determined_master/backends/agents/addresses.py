"""Addresses of agents and of their containers: an agent may only name its own.

The master connects to these addresses for users (the proxy), so an agent must not be able to send
it to other machines, to the master's own loopback or to a cloud's metadata service.
"""

from __future__ import annotations

from collections.abc import Sequence

from msgspec.structs import replace

from determined_master.backends.named_hosts import addresses_of, is_local
from determined_master.domain.addresses import IPNetwork, choose_own, is_loopback, is_same
from determined_wire.agent_link import Address, ContainerReport

RESOLVE_S = 5.0


async def own_address(
    advertised: str, remote: str, allowed: Sequence[IPNetwork]
) -> tuple[str, str | None]:
    """The IP address at which the master and other machines reach an agent, and a warning.

    It is that of the agent's connection, unless the agent advertises another one that it may name.

    Args:
        advertised: an IP address or a host name; empty for none.
        remote: address of the agent's connection.
        allowed: networks in which an admin lets agents name their addresses.
    """
    if not advertised or is_same(advertised, remote):
        return remote, None
    address = choose_own(await addresses_of(advertised, RESOLVE_S), remote, allowed, is_local)
    if address is not None:
        return address, None
    return remote, (
        f"its advertised address {advertised[:100]!r} is not used: it is not that of its "
        f"connection, {remote}, and security.agent_networks of the master does not name its "
        "network"
    )


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
    is_machine = not host or is_same(host, agent) or (is_loopback(host) and is_loopback(agent))
    return is_machine and 0 < address.host_port < 65536
