"""Finds settings that contradict each other, or are not available in this version."""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any
from urllib.parse import urlsplit

from determined_master.domain.access.roles import ROLES
from determined_master.domain.addresses import networks_of
from determined_master.domain.config.schema.problems import ProblemReport
from determined_master.domain.cron import parse_cron
from determined_master.domain.task.limits import LIMITS
from determined_master.settings.join_token import BadJoinToken, read_join_token
from determined_master.settings.kubernetes.handover import check_handover
from determined_master.settings.managers import check_managers
from determined_master.settings.pools import ResourceManager
from determined_master.settings.reader import Duration
from determined_master.settings.storage import check_storage
from determined_wire.masking import MASK

if TYPE_CHECKING:
    from determined_master.settings.master import Settings
    from determined_master.settings.sections import WebhookSettings
    from determined_master.settings.security import Authz

MAX_PORT = 65535
MAX_RETENTION_DAYS = 32767
AUTHZ_TYPES = ("basic", "rbac")
LOGO_ENDINGS = (".svg", ".png", ".jpg", ".jpeg", ".gif", ".webp")

UNUSED: Mapping[tuple[str, ...], str] = {
    ("security", "authz", "fallback"): "security.authz.type alone decides",
    ("task_container_defaults", "nccl_port_range"): "NCCL uses ports that the system chooses",
}
"""Accepted for older files."""
RENAMED_POOL_KEYS: Mapping[str, str] = {
    "max_cpu_containers_per_agent": "max_aux_containers_per_agent",
}
REMOVED_POOL_KEYS: Mapping[str, str] = {
    "kubernetes_namespace": (
        "was removed: bind workspaces to namespaces, or set default_namespace"
    ),
}
"""Also refused by the chart, with the same text."""


def upgrade(tree: dict[str, Any], report: ProblemReport) -> None:
    """Replace older names by the current ones, in place."""
    for old in ("scheduler", "provisioner"):
        if tree.pop(old, None) is not None:
            text = "is an older form: move it into resource_manager and resource_pools"
            report.problem(f"root.{old}", text)
    manager = tree.get("resource_manager")
    if isinstance(manager, dict):
        _rename(manager, "default_cpu_resource_pool", "default_aux_resource_pool", report)
        _rename(manager, "default_gpu_resource_pool", "default_compute_resource_pool", report)
    _upgrade_pools(tree, report)
    internal = tree.get("__internal")
    if isinstance(internal, dict) and "preemption_timeout" in internal:
        defaults = tree.setdefault("task_container_defaults", {})
        if isinstance(defaults, dict):
            defaults.setdefault("preemption_timeout", internal["preemption_timeout"])
        del internal["preemption_timeout"]
    _read_dump(tree)
    _drop_elastic(tree, report)
    _warn_of_unused(tree, report)
    _warn_of_masks(tree, "root", report)


def _upgrade_pools(tree: dict[str, Any], report: ProblemReport) -> None:
    pools = tree.get("resource_pools")
    for pool in pools if isinstance(pools, list) else ():
        if isinstance(pool, dict):
            for old, new in RENAMED_POOL_KEYS.items():
                if old in pool and pool.pop(new, None) is not None:
                    report.warn(old, f"is set besides {new} and wins: remove it")
                _rename(pool, old, new, report)
            for old, text in REMOVED_POOL_KEYS.items():
                if pool.pop(old, None) is not None:
                    report.problem(f"root.resource_pools.{old}", text)


def _read_dump(tree: dict[str, Any]) -> None:
    """Read what 0.38.1 prints: ports as texts, and ids of the default task user."""
    for section in (tree, tree.get("db")):
        port = section.get("port") if isinstance(section, dict) else None
        if isinstance(section, dict) and isinstance(port, str) and port.isdecimal():
            section["port"] = int(port)
    security = tree.get("security")
    user = security.get("default_task") if isinstance(security, dict) else None
    if isinstance(user, dict):
        for key in ("id", "user_id"):  # of a link between users that this one is not
            if not user.get(key):
                user.pop(key, None)


def _drop_elastic(tree: dict[str, Any], report: ProblemReport) -> None:
    """Task logs of a master that had Elasticsearch: nothing of that section is needed."""
    section = tree.get("logging")
    if isinstance(section, dict) and section.get("type") == "elastic":
        tree["logging"] = {}
        text = '"elastic" has no effect: task logs are kept in the database; remove the section'
        report.warn("root.logging.type", text)


def _warn_of_unused(tree: dict[str, Any], report: ProblemReport) -> None:
    """Warn of settings that the file has and that change nothing."""
    for path, text in UNUSED.items():
        value: Any = tree
        for key in path:
            value = value.get(key) if isinstance(value, dict) else None
        if value:
            report.warn(f"root.{'.'.join(path)}", f"has no effect: {text}")


def _warn_of_masks(value: Any, at: str, report: ProblemReport) -> None:
    """Warn of secrets in what `det master config` printed: it shows none."""
    if isinstance(value, Mapping):
        for key, inner in value.items():
            _warn_of_masks(inner, f"{at}.{key}", report)
    elif isinstance(value, list):
        for number, inner in enumerate(value):
            _warn_of_masks(inner, f"{at}[{number}]", report)
    elif value == MASK:
        report.warn(at, f'"{MASK}" stands for a secret that was not shown: write the secret')


def check(settings: Settings, report: ProblemReport) -> None:
    """Report every contradiction, and every option that this version lacks."""
    _check_database(settings, report)
    _check_security(settings, report)
    _check_pools(settings, report)
    _check_others(settings, report)
    _refuse(settings, report)
    _warn(settings, report)


def _rename(section: dict[str, Any], old: str, new: str, report: ProblemReport) -> None:
    if old in section:
        section.setdefault(new, section[old])
        del section[old]
        report.warn(old, f"is now called {new}")


def _check_database(settings: Settings, report: ProblemReport) -> None:
    db = settings.db
    if db.host:
        for key in ("user", "name"):
            if not getattr(db, key):
                report.problem(f"root.db.{key}", "must be set when db.host is")
    elif db.user or db.password or db.name:
        text = "must be set, or nothing else of db: without a host the master runs PostgreSQL"
        report.problem("root.db.host", text)


def _check_security(settings: Settings, report: ProblemReport) -> None:
    tls, ssh, token = settings.security.tls, settings.security.ssh, settings.security.token
    if bool(tls.cert) != bool(tls.key):
        missing = "key" if tls.cert else "cert"
        report.problem(f"root.security.tls.{missing}", "cert and key must both be set, or neither")
    _check_tls(settings, report)
    try:
        read_join_token(settings.security.agent_join_token_file)
    except BadJoinToken as error:
        report.problem("root.security.agent_join_token_file", str(error))
    if ssh.key_type == "RSA" and ssh.rsa_key_size < 1:
        text = "must be from 1 to 16384 when key_type is RSA; 4096 is a good choice"
        report.problem("root.security.ssh.rsa_key_size", text)
    if 0 <= token.max_lifespan_days < token.default_lifespan_days:
        text = f"must be <= max_lifespan_days ({token.max_lifespan_days})"
        report.problem("root.security.token.default_lifespan_days", text)
    _check_authz(settings.security.authz, report)
    _check_networks(settings.security.trusted_proxies, "root.security.trusted_proxies", report)
    _check_networks(settings.security.agent_networks, "root.security.agent_networks", report)


def _check_authz(authz: Authz, report: ProblemReport) -> None:
    for key, kind in (("type", authz.type), ("fallback", authz.fallback or AUTHZ_TYPES[0])):
        if kind not in AUTHZ_TYPES:
            text = f'"{kind}" is none of the known types: {", ".join(AUTHZ_TYPES)}'
            report.problem(f"root.security.authz.{key}", text)
    role = ROLES.get(authz.workspace_creator_assign_role.role_id)
    if role is None or role.is_of_cluster:
        roles = ", ".join(f"{r.id} ({r.name})" for r in ROLES.values() if not r.is_of_cluster)
        text = f"is not a role of workspaces; valid roles: {roles}"
        report.problem("root.security.authz.workspace_creator_assign_role.role_id", text)


def _check_tls(settings: Settings, report: ProblemReport) -> None:
    tls, manager = settings.security.tls, settings.agents
    if tls.cert and tls.key:
        # With it comes the HTTP server, which the other commands do not need.
        from determined_master.server.tls import BadCertificate, server_context

        try:
            server_context(tls, manager.client_ca)
        except BadCertificate as error:
            section = "resource_manager" if error.part == "client_ca" else "security.tls"
            report.problem(f"root.{section}.{error.part}", str(error))
    if manager.require_authentication:
        if not tls.cert:
            text = "needs HTTPS: set security.tls.cert and security.tls.key"
            report.problem("root.resource_manager.require_authentication", text)
        if not manager.client_ca:
            text = "must name the authorities of agents' certificates for require_authentication"
            report.problem("root.resource_manager.client_ca", text)
    elif manager.client_ca:
        text = "has no effect unless resource_manager.require_authentication is set"
        report.warn("root.resource_manager.client_ca", text)
    if manager.verify_agent_ids and not manager.require_authentication:
        text = "has no effect without resource_manager.require_authentication: set it"
        report.problem("root.resource_manager.verify_agent_ids", text)


def _check_pools(settings: Settings, report: ProblemReport) -> None:
    check_managers(settings, report)
    schedulers = {}
    if isinstance(settings.resource_manager, ResourceManager):
        own = settings.resource_manager
        schedulers["root.resource_manager.scheduler"] = own.scheduler
        check_handover(own.scheduler, own, "root.resource_manager.scheduler", report)
    for manager in settings.managers:
        for i, pool in enumerate(manager.pools):
            at = f"{manager.at}.resource_pools[{i}]"
            if pool.scheduler is not None:
                schedulers[f"{at}.scheduler"] = pool.scheduler
                check_handover(pool.scheduler, manager.config, f"{at}.scheduler", report)
            if not pool.agent_reattach_enabled:
                text = "agents always find their tasks again: remove this"
                report.warn(f"{at}.agent_reattach_enabled", text)
    for at, scheduler in schedulers.items():
        if scheduler.type == "round_robin":
            report.problem(f"{at}.type", "round_robin is not available any more: use priority")
        elif scheduler.type == "kubernetes":
            text = "is for pools of a Kubernetes manager, which have it anyway: use priority"
            report.problem(f"{at}.type", f'"kubernetes" {text}')
        elif scheduler.type == "fair_share":
            report.warn(f"{at}.type", "fair_share is deprecated: use priority")


def _check_others(settings: Settings, report: ProblemReport) -> None:
    check_storage(settings, report)
    _check_proxy(settings, report)
    _check_webhooks(settings.webhooks, report)
    _check_limits(settings, report)
    retention = settings.retention_policy
    days = retention.log_retention_days
    if days is not None and not -1 <= days <= MAX_RETENTION_DAYS:
        text = f"must be from -1 to {MAX_RETENTION_DAYS} but found {days}"
        report.problem("root.retention_policy.log_retention_days", text)
    schedule = retention.schedule
    if schedule is not None:
        _check_schedule(schedule, "root.retention_policy.schedule", report)
    if settings.wheelhouse and not os.path.isdir(settings.wheelhouse):
        text = f"must be a directory of wheels but found {settings.wheelhouse!r}"
        report.problem("root.wheelhouse", text)
    logos = settings.ui_customization.logo_paths
    for name in logos.__struct_fields__ if logos else ():
        path = getattr(logos, name)
        if not path or not os.path.isfile(path):
            text = f"there is no file {path!r}; all four logos are needed"
            report.problem(f"root.ui_customization.logo_paths.{name}", text)
        elif not path.lower().endswith(LOGO_ENDINGS):
            endings = ", ".join(LOGO_ENDINGS)
            text = f"must be an image file that ends in {endings} but found {path!r}"
            report.problem(f"root.ui_customization.logo_paths.{name}", text)


def _check_limits(settings: Settings, report: ProblemReport) -> None:
    """Warn that users own the machines, unless only users of this machine reach the master."""
    sections = [settings.task_container_defaults]
    sections += [pool.task_container_defaults for pool in settings.all_pools]
    if settings.is_loopback or any(
        section.get(key) is not None for section in sections for key in LIMITS
    ):
        return
    text = (
        "tasks may mount every directory of the machines, add every capability and device, and "
        "run as root: set allowed_host_paths, allowed_capabilities, allowed_devices and "
        "allow_root if not all users are trusted with the machines"
    )
    report.warn("root.task_container_defaults", text)


def _check_proxy(settings: Settings, report: ProblemReport) -> None:
    proxy = settings.proxy
    if proxy.address:
        parts = urlsplit(proxy.address)
        is_plain = not (parts.path.strip("/") or parts.query or parts.fragment or parts.username)
        if parts.scheme not in ("http", "https") or not parts.netloc or not is_plain:
            text = f"must be http(s)://HOST[:PORT] but found {proxy.address!r}"
            report.problem("root.proxy.address", text)
        elif "{host}" in proxy.address and (parts.hostname != "{host}" or not proxy.port):
            text = f"{{host}} must be the whole HOST, and needs proxy.port: {proxy.address!r}"
            report.problem("root.proxy.address", text)
    if proxy.port is not None and not 0 <= proxy.port <= MAX_PORT:
        text = f"must be from 0 to {MAX_PORT} but found {proxy.port}"
        report.problem("root.proxy.port", text)
    if proxy.port and proxy.port == settings.port:
        report.problem("root.proxy.port", f"must differ from port, which is {settings.port} too")


def _check_webhooks(webhooks: WebhookSettings, report: ProblemReport) -> None:
    base = urlsplit(webhooks.base_url)
    if webhooks.base_url and (base.scheme not in ("http", "https") or not base.netloc):
        text = f"must be http(s)://HOST[:PORT][/PATH] but found {webhooks.base_url!r}"
        report.problem("root.webhooks.base_url", text)
    _check_networks(webhooks.allowed_networks, "root.webhooks.allowed_networks", report)


def _check_networks(texts: Sequence[str], at: str, report: ProblemReport) -> None:
    try:
        networks_of(texts)
    except ValueError as error:
        report.problem(at, f"must be networks, such as 10.1.0.0/16: {error}")


def _check_schedule(schedule: str, at: str, report: ProblemReport) -> None:
    if len(schedule.split()) == 1:
        Duration().read(schedule, at, report)
        return
    try:
        parse_cron(schedule)
    except ValueError as error:
        report.problem(at, f"{error}; found {schedule!r}")


def _refuse(settings: Settings, report: ProblemReport) -> None:
    """Report missing features that it would be unsafe to ignore: they decide who may sign in.

    A user whom an identity provider has removed would keep a password here.
    """
    kind = settings.logging.type
    if kind != "default":
        text = f'must be "default", as task logs are kept in the database, but found "{kind}"'
        report.problem("root.logging.type", text)
    for name in ("oidc", "saml", "scim", "det_cloud"):
        if getattr(settings, name).get("enabled"):
            text = "is not in this version: users sign in with passwords; set enabled to false"
            report.problem(f"root.{name}.enabled", text)
    if settings.internal.external_sessions.login_uri:
        text = "is not in this version: users sign in with passwords; remove it"
        report.problem("root.__internal.external_sessions.login_uri", text)


def _without_effect(settings: Settings) -> Iterator[tuple[str, object, str]]:
    """Options that the master can ignore safely: their values, and the remedies."""
    remove, internal = "remove it", settings.internal
    yield "integrations.pachyderm.address", settings.integrations.pachyderm.address, remove
    yield (
        "security.authz._strict_ntsc_enabled",
        settings.security.authz.strict_ntsc_enabled,
        remove,
    )
    text = "name the default pools, which tasks without a pool use; only Kubernetes has this"
    is_without = settings.agents.no_default_resource_pools
    yield "resource_manager.no_default_resource_pools", is_without, text
    text = "the audit log is always written, and admins see it in the web UI; remove it"
    yield "__internal.audit_logging_enabled", internal.audit_logging_enabled, text
    text = "serve these paths by a reverse proxy before the master; remove them"
    yield "__internal.proxied_servers", internal.proxied_servers, text


def _warn(settings: Settings, report: ProblemReport) -> None:
    for at, value, remedy in _without_effect(settings):
        if value:
            report.warn(f"root.{at}", f"has no effect in this version: {remedy}")
    if settings.telemetry.enabled or settings.telemetry.otel_enabled:
        report.warn("root.telemetry", "has no effect: nothing is ever sent to anybody")
    if settings.db.migrations or settings.db.views_and_triggers:
        report.warn("root.db", "migrations and views_and_triggers have no effect any more")
    if settings.is_join_open:
        text = (
            "is open: whoever reaches this port, also code in tasks, can join and run others' code"
        )
        report.warn("root.security.agent_join", text)
