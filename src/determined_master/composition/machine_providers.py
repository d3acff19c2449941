"""The provider of each pool's machines. A master imports those that its pools have."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Any

from determined_master.ports.machines import MachineSite
from determined_master.services.cluster.join_tokens import machine_token

if TYPE_CHECKING:
    from determined_master.ports.machines import MachineProvider
    from determined_master.settings.master import Settings
    from determined_master.store.cluster.bootstrap import Cluster

MakeProvider = Callable[[Any, MachineSite], "MachineProvider"]
"""Takes the provider's settings and the facts of the master; opens no connection yet."""


def _aws(provider: Any, site: MachineSite) -> MachineProvider:
    from determined_master.backends.aws.provider import AwsMachines

    return AwsMachines(provider, site)


def _gcp(provider: Any, site: MachineSite) -> MachineProvider:
    from determined_master.backends.gcp.provider import GcpMachines

    return GcpMachines(provider, site)


MACHINE_PROVIDERS: dict[str, MakeProvider] = {"aws": _aws, "gcp": _gcp}
"""By `provider.type`; `settings.providers.kinds.PROVIDERS` has the options of each."""


def machine_pools(settings: Settings) -> list[str]:
    """The names of the pools that start machines on demand."""
    return [pool.pool_name for pool in settings.resource_pools if pool.provider is not None]


def make_providers(settings: Settings, cluster: Cluster) -> dict[str, MachineProvider]:
    """The providers of the pools that have one, by pool."""
    cert = settings.security.tls.cert
    providers = {}
    for pool in settings.resource_pools:
        if pool.provider is None:
            continue
        site = MachineSite(
            pool=pool.pool_name,
            join_token=machine_token(cluster.secret, pool.pool_name),
            master_scheme="https" if cert else "http",
            master_port=settings.port,
            master_cert=Path(cert).read_text(encoding="ascii") if cert else "",
            cluster_id=cluster.cluster_id,
        )
        providers[pool.pool_name] = MACHINE_PROVIDERS[pool.provider.type](pool.provider, site)
    return providers
