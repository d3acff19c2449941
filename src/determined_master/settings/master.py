"""Settings of the master: flags over DET_* variables over master.yaml over defaults."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Annotated, Any

import msgspec
from msgspec import Meta

from determined_master.domain.config.schema.problems import ProblemReport
from determined_master.domain.config.sections.storage import MASTER_STORAGE
from determined_master.domain.config.sizes import ConfigLimits
from determined_master.domain.errors import InvalidArgument
from determined_master.settings.check import check, upgrade
from determined_master.settings.command import Command, override, parse_command_line
from determined_master.settings.managers import (
    AdditionalManager,
    AnyManager,
    Manager,
    check_given,
    managers_of,
    resolve_managers,
)
from determined_master.settings.pools import (
    POOLS,
    ContainerDefaults,
    ResourceManager,
    ResourcePool,
    Scheduler,
    shown_storage,
)
from determined_master.settings.reader import read_struct, show
from determined_master.settings.sections import (
    Cache,
    Database,
    IdentityProvider,
    Integrations,
    InternalSettings,
    LogSettings,
    Observability,
    Proxy,
    Retention,
    TaskLogging,
    Telemetry,
    UiCustomization,
    UserStorageSettings,
    WebhookSettings,
)
from determined_master.settings.security import Security
from determined_master.settings.yaml_text import parse_yaml
from determined_wire.settings_reader import SettingsError, SettingValue, options_in, read_text

__all__ = ["Command", "Settings", "SettingsError", "load"]

DEFAULT_FILE = "/etc/determined/master.yaml"
LOOPBACK = ("127.0.0.1", "localhost", "::1")
_DERIVED = Meta(extra={"is_derived": True})
_STORAGE = {"kind": MASTER_STORAGE, "shown": shown_storage}


class Settings(msgspec.Struct, frozen=True, kw_only=True):
    """All settings, checked and completed with derived values."""

    config_file: Annotated[str, Meta(description="This file.")] = DEFAULT_FILE
    host: Annotated[
        str, Meta(description="Address to listen on; 127.0.0.1 for this machine only.")
    ] = "0.0.0.0"
    port: Annotated[
        int, Meta(ge=0, le=65535, description="Port to listen on. Default: 8080, with TLS 8443.")
    ] = 0
    root: Annotated[
        str,
        Meta(
            description="A directory whose folder `webui` holds the web UI. Without it, or "
            "without an index.html in that folder, the web UI of the package is served."
        ),
    ] = ""
    cluster_name: Annotated[
        str, Meta(description="Name of this cluster in pages and messages.")
    ] = ""
    db: Database = Database()
    security: Security = Security()
    proxy: Proxy = Proxy()
    log: LogSettings = LogSettings()
    cache: Cache = Cache()
    checkpoint_storage: Annotated[
        dict[str, Any] | None,
        Meta(
            description=(
                "Where checkpoints are stored, unless workspace or experiment set it. Default: "
                "a directory next to the database that the master runs."
            ),
            extra=_STORAGE,
        ),
    ] = None
    task_container_defaults: ContainerDefaults = msgspec.field(default_factory=dict)
    resource_manager: AnyManager = ResourceManager()
    resource_pools: Annotated[
        tuple[ResourcePool, ...], Meta(description="Default: one pool named default.")
    ] = POOLS
    additional_resource_managers: Annotated[
        tuple[AdditionalManager, ...] | None,
        Meta(description="Kubernetes clusters besides the first manager, which is the default."),
    ] = None
    config_limits: ConfigLimits = ConfigLimits()
    wheelhouse: Annotated[
        str,
        Meta(
            description=(
                "Directory of the wheels that machines on demand install beside the agent's, so "
                "that they need no package index. Empty: they use pip's."
            )
        ),
    ] = ""
    launch_error: Annotated[
        bool, Meta(description="Whether a request larger than the cluster is refused.")
    ] = True
    tensorboard_timeout: Annotated[
        int, Meta(ge=0, description="Seconds until an idle TensorBoard ends.")
    ] = 300
    notebook_timeout: Annotated[
        int | None, Meta(description="Seconds until an idle notebook ends; none for never.")
    ] = None
    enable_cors: Annotated[
        bool, Meta(description="Whether pages of other origins may call the API.")
    ] = False
    reserved_ports: Annotated[
        tuple[int, ...] | None, Meta(description="Ports that no task gets.")
    ] = None
    logging: TaskLogging = TaskLogging()
    retention_policy: Retention = Retention()
    user_storage: UserStorageSettings = UserStorageSettings()
    observability: Observability = Observability()
    telemetry: Telemetry = Telemetry()
    webhooks: WebhookSettings = WebhookSettings()
    feature_switches: Annotated[
        tuple[str, ...],
        Meta(
            description=(
                "NAME turns a switch on, -NAME turns it off. streaming_updates: the WebSocket "
                "/stream is served."
            )
        ),
    ] = ()
    ui_customization: UiCustomization = UiCustomization()
    integrations: Integrations = Integrations()
    oidc: IdentityProvider = msgspec.field(default_factory=dict)
    saml: IdentityProvider = msgspec.field(default_factory=dict)
    scim: IdentityProvider = msgspec.field(default_factory=lambda: {"auth": None})
    det_cloud: IdentityProvider = msgspec.field(default_factory=dict)
    internal: InternalSettings = msgspec.field(default=InternalSettings(), name="__internal")

    run: Annotated[Command, _DERIVED] = Command("run")
    """The command of the master."""
    warnings: Annotated[tuple[str, ...], _DERIVED] = ()
    """Advice for the admin, for the log."""

    @property
    def command(self) -> str:
        """run, backup, restore, simulate, migrate, check or version."""
        return self.run.name

    @property
    def directory(self) -> str:
        """The directory of a backup."""
        return self.run.directory

    @property
    def is_loopback(self) -> bool:
        """Whether the master can be reached only from this machine."""
        return self.host in LOOPBACK

    @property
    def service_address(self) -> str:
        """Where browsers open services of tasks; empty for the master's own address."""
        proxy = self.proxy
        if proxy.address or not proxy.port:
            return proxy.address
        return f"{'https' if self.security.tls.cert else 'http'}://{{host}}:{proxy.port}"

    @property
    def has_own_database(self) -> bool:
        """Whether the master runs its own PostgreSQL."""
        return not self.db.host

    @property
    def data_dir(self) -> Path | None:
        """The directory of this cluster's files, including the database;

        None without its own database.
        """
        return Path(self.db.data_dir).parent if self.has_own_database else None

    @property
    def is_join_open(self) -> bool:
        """Whether agents may join without a token."""
        return self.security.agent_join == "open"

    @property
    def managers(self) -> tuple[Manager, ...]:
        """All resource managers, the default one first."""
        return tuple(managers_of(self))

    @property
    def all_pools(self) -> tuple[ResourcePool, ...]:
        """The pools of all managers, in the order of the settings."""
        return tuple(pool for manager in managers_of(self) for pool in manager.pools)

    @property
    def agents(self) -> ResourceManager:
        """The manager of agents; one without pools where Kubernetes is the first."""
        first = self.resource_manager
        return first if isinstance(first, ResourceManager) else ResourceManager()

    @property
    def agent_pools(self) -> tuple[ResourcePool, ...]:
        return self.resource_pools if self.resource_manager.type == "agent" else ()

    def manager_of(self, pool: str) -> Manager:
        """The manager of a pool; the default one for an unknown pool."""
        managers = self.managers
        has = (m for m in managers if any(p.pool_name == pool for p in m.pools))
        return next(has, managers[0])

    def agent_reconnect_wait_s(self, pool: str) -> float:
        """How long a lost agent of that pool may take to reconnect."""
        waits = {p.pool_name: p.agent_reconnect_wait_s for p in self.resource_pools}
        return waits.get(pool, self.resource_pools[0].agent_reconnect_wait_s)

    def scheduler_of(self, pool: ResourcePool) -> Scheduler:
        """The scheduler of a pool: its own block replaces the manager's as a whole."""
        return self.manager_of(pool.pool_name).scheduler_of(pool)

    def masked(self) -> dict[str, Any]:
        """All settings as JSON values, every secret as `********`."""
        document: dict[str, Any] = show(self)
        return document


def load(argv: Sequence[str], env: Mapping[str, str], *, is_root: bool | None = None) -> Settings:
    """Read all sources.

    Args:
        argv: without the program's name.
        env: the environment; variables named DET_* and XDG_* count.
        is_root: whether the master runs as root; by default it is detected.

    Raises:
        SettingsError: with every error and its path.
        SystemExit: for `--help` and for unknown flags.
    """
    line = parse_command_line(Settings, argv)
    if line.command.name == "version":
        return Settings(run=line.command)
    report = ProblemReport()
    path, is_explicit = _file(line.flags, env)
    tree = _read_file(path, is_explicit, report)
    sources = override(Settings, tree, env, line.flags)
    upgrade(tree, report)
    settings: Settings = read_struct(Settings, tree, "root", report)
    check_given(settings, report)
    root = os.geteuid() == 0 if is_root is None else is_root
    settings = _resolve(settings, env, root)
    check(settings, report)
    if report.problems:
        raise SettingsError.of([(p.path, p.text) for p in report.problems], sources)
    return msgspec.structs.replace(
        settings, config_file=path, run=line.command, warnings=report.warnings
    )


def _file(flags: Mapping[str, SettingValue], env: Mapping[str, str]) -> tuple[str, bool]:
    flag = flags.get("config_file")
    chosen = flag.text if flag else env.get("DET_CONFIG_FILE")
    return chosen or DEFAULT_FILE, bool(chosen)


def _read_file(path: str, is_explicit: bool, report: ProblemReport) -> dict[str, Any]:
    text = read_text(path, is_explicit=is_explicit)
    if text is None:
        return {}
    try:
        parsed = parse_yaml(text, free_form=())
    except InvalidArgument as e:
        raise SettingsError(f"configuration file {path}: {e}") from None
    tree = options_in(parsed.value, path)
    for warning in parsed.warnings:
        report.warn(path, warning)
    return tree


def _resolve(settings: Settings, env: Mapping[str, str], is_root: bool) -> Settings:
    """Fill in defaults that depend on other settings and on the user who runs the master."""
    replace = msgspec.structs.replace
    cluster = settings.cluster_name or "determined"
    db = settings.db
    if not db.host and not db.data_dir:
        home = Path(env.get("XDG_DATA_HOME") or Path(env.get("HOME", "~")) / ".local/share")
        base = Path("/var/lib/determined") if is_root else home.expanduser() / "determined"
        db = replace(db, data_dir=str(base / cluster / "postgres"))
    cache = settings.cache
    if not cache.cache_dir:
        home = Path(env.get("XDG_CACHE_HOME") or Path(env.get("HOME", "~")) / ".cache")
        place = (Path("/var/cache") if is_root else home.expanduser()) / "determined"
        cache = Cache(cache_dir=str(place if db.host else Path(db.data_dir).parent / "cache"))
    security = settings.security
    security = replace(
        security,
        allow_process_runtime=(
            settings.is_loopback
            if security.allow_process_runtime is None
            else security.allow_process_runtime
        ),
    )
    storage = settings.checkpoint_storage
    if storage is None and not db.host:
        place = Path(db.data_dir).parent / "checkpoints"
        storage = {"type": "shared_fs", "host_path": str(place), "create": True}
    return replace(
        resolve_managers(settings),
        port=settings.port or (8443 if security.tls.cert else 8080),
        db=db,
        cache=cache,
        security=security,
        checkpoint_storage=storage,
    )
