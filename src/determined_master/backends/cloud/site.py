"""Facts of the master for the machines of a pool."""

from __future__ import annotations

from collections.abc import Callable

import msgspec

from determined_master.backends.cloud.machine_proxies import proxies_of
from determined_master.backends.cloud.start_script import Boot
from determined_master.ports.machines import MachineSite, ProviderFailed
from determined_master.settings.providers.provider import Provider, split_master_url


def boot_of(provider: Provider, site: MachineSite) -> Boot:
    """Facts for every machine of a pool, before its provider has looked up the rest."""
    url = split_master_url(provider.master_url)
    config = provider.agent_config_file_contents
    has_tls = (url.scheme or site.master_scheme) == "https"
    return Boot(
        resource_pool=site.pool,
        image=provider.agent_docker_image,
        master_host=url.host,
        master_port=url.port or site.master_port,
        has_tls=has_tls,
        master_cert=site.master_cert if has_tls else "",
        master_cert_name=provider.master_cert_name,
        join_token=site.join_token,
        network=provider.agent_docker_network,
        runtime=provider.agent_docker_runtime,
        reconnect_attempts=provider.agent_reconnect_attempts,
        reconnect_backoff_s=provider.agent_reconnect_backoff,
        startup_script=provider.startup_script,
        container_startup_script=provider.container_startup_script,
        agent_config=msgspec.json.encode(config).decode() if config else "",
        proxies=proxies_of(config or {}),
    )


def master_address(boot: Boot) -> str:
    """The master's address for the tags of machines: `http://det.example:8080`."""
    return f"{'https' if boot.has_tls else 'http'}://{boot.master_host}:{boot.master_port}"


def resolve_host(
    given: str, aliases: tuple[str, ...], find: Callable[[str], str], cloud: str
) -> str:
    """The host at which machines reach the master.

    Args:
        given: of `master_url`; empty means the first alias.
        aliases: words that stand for the cloud's description of the master's machine.
        find: asks the cloud for the value of one; empty if it has none.
        cloud: its name, for errors.

    Raises:
        ProviderFailed: the cloud has no answer.
    """
    if given and given not in aliases:
        return given
    alias = given or aliases[0]
    if host := find(alias):
        return host
    raise ProviderFailed(
        f"{cloud} does not know the {alias} of the master's machine: set "
        "provider.master_url to the master's address for agents, such as http://det.example:8080"
    )
