"""Which settings are open for tenants who do not trust each other (`check --tenants`)."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, NamedTuple

from determined_master.domain.task.limits import LIMITS

if TYPE_CHECKING:
    from determined_master.settings.master import Settings

_LIMIT_TEXTS = {
    "allowed_host_paths": "tasks mount every directory of the machines: name allowed ones, or []",
    "allowed_capabilities": "tasks add every capability: name the allowed ones, or []",
    "allowed_devices": "tasks add every device: name the allowed ones, or []",
    "allow_root": "tasks run as root of their container or machine: set false",
}
NOT_IN_SETTINGS = """\
Settings do not show these; see to them for each tenant:
  roles: of this tenant's workspaces only (det rbac assign-role)
  accounts: an agent user for each user (det user link-with-agent-user)
  storages: checkpoint_storage of each workspace, with keys of its own (det workspace edit)
  Kubernetes: a namespace for each workspace (det workspace bindings)
  network: tasks reach each other unless the network forbids it
"""


class OpenSetting(NamedTuple):
    """A setting that lets one tenant reach another."""

    key: str
    text: str
    """What it allows, and the remedy."""


def open_settings(settings: Settings) -> list[OpenSetting]:
    """Every setting that is open, in the order in which an admin would close them."""
    return [
        *_access(settings),
        *_agents(settings),
        *_containers(settings),
        *_addresses(settings),
    ]


def tenants_report(settings: Settings) -> str:
    """The report of `determined-master check --tenants`."""
    findings = open_settings(settings)
    lines = [f"{setting.key}: {setting.text}" for setting in findings]
    head = (
        f"{len(findings)} settings are open for tenants who do not trust each other:"
        if findings
        else "no setting is open for tenants who do not trust each other"
    )
    return "\n".join([head, *(f"  {line}" for line in lines), "", NOT_IN_SETTINGS])


def _access(settings: Settings) -> Iterator[OpenSetting]:
    security = settings.security
    if not security.authz.has_roles:
        yield OpenSetting(
            "security.authz.type",
            "every user sees everything and controls every experiment: set rbac",
        )
    if not security.authz.strict_job_queue_control:
        text = "users change places in the queue of all: set true"
        yield OpenSetting("security.authz.strict_job_queue_control", text)
    if not security.tls.cert:
        text = (
            "tokens cross the network unencrypted: set it and security.tls.key, or put a proxy "
            "with HTTPS before the master"
        )
        yield OpenSetting("security.tls.cert", text)
    if security.token.max_lifespan_days < 0:
        text = "access tokens never end: set a number of days"
        yield OpenSetting("security.token.max_lifespan_days", text)
    if settings.enable_cors:
        yield OpenSetting("enable_cors", "pages of all origins call the API: set false")
    if not settings.proxy.address:
        text = "pages of tasks share the master's origin: set an address of their own"
        yield OpenSetting("proxy.address", text)
    if not settings.user_storage.max_gib:
        text = "one user's logs, metrics and files fill the database: set a number of GiB"
        yield OpenSetting("user_storage.max_gib", text)


def _agents(settings: Settings) -> Iterator[OpenSetting]:
    security = settings.security
    if not any(manager.kind == "agent" for manager in settings.managers):
        return
    if security.allow_process_runtime:
        text = "tasks run as processes of the machine, without isolation: set false"
        yield OpenSetting("security.allow_process_runtime", text)
    if settings.is_join_open:
        text = "everybody who reaches the port joins as an agent and gets tasks: set token"
        yield OpenSetting("security.agent_join", text)
    if not settings.agents.require_authentication:
        text = "agents show no certificate: set true, and resource_manager.client_ca"
        yield OpenSetting("resource_manager.require_authentication", text)
    if not settings.agents.verify_agent_ids:
        text = "an agent takes the id of another one and gets its tasks: set true"
        yield OpenSetting("resource_manager.verify_agent_ids", text)
    if security.default_task.uid == 0:
        text = "tasks of users without an account run as root: name another account"
        yield OpenSetting("security.default_task.uid", text)


def _containers(settings: Settings) -> Iterator[OpenSetting]:
    cluster = settings.task_container_defaults
    for limit in LIMITS:
        open_pools = [
            pool.pool_name
            for pool in settings.all_pools
            if _is_open(limit, pool.task_container_defaults.get(limit, cluster.get(limit)))
        ]
        if open_pools:
            where = "" if len(open_pools) == len(settings.all_pools) else _of(open_pools)
            yield OpenSetting(f"task_container_defaults.{limit}{where}", _LIMIT_TEXTS[limit])
    for manager in settings.managers:
        namespace = getattr(manager.config, "default_namespace", "")
        if manager.kind == "kubernetes" and namespace == "default":
            text = (
                "pods of workspaces without a binding share this namespace, its Secrets and "
                "volume claims: name one of their own"
            )
            yield OpenSetting("resource_manager.default_namespace", text)


def _addresses(settings: Settings) -> Iterator[OpenSetting]:
    """Exceptions that an admin has made for addresses that users and agents name."""
    opened = (
        ("security.agent_networks", settings.security.agent_networks, "agents name addresses in"),
        ("webhooks.allowed_networks", settings.webhooks.allowed_networks, "webhooks reach"),
        (
            "checkpoint_storage.allowed_endpoints",
            (settings.checkpoint_storage or {}).get("allowed_endpoints") or (),
            "storages of all users reach",
        ),
    )
    for key, values, text in opened:
        if values:
            names = ", ".join(values)
            yield OpenSetting(key, f"{text} {names}: keep it only if all tenants may")


def _is_open(limit: str, value: object) -> bool:
    return value is not False if limit == "allow_root" else value is None


def _of(pools: list[str]) -> str:
    return f" (of {', '.join(pools)})"
