"""Settings of the database, the log and other sections of a few options each."""

from __future__ import annotations

from typing import Annotated, Any, Literal

import msgspec
from msgspec import Meta

from determined_master.domain.addresses import IPNetwork, networks_of

Struct = msgspec.Struct
LogLevel = Literal["trace", "debug", "info", "warn", "error", "fatal"]
SslMode = Literal["disable", "require", "verify-ca", "verify-full"]


class Database(Struct, frozen=True, kw_only=True):
    """The PostgreSQL database; without a host the master runs one of its own."""

    user: Annotated[str, Meta(description="User of the database.")] = ""
    password: Annotated[str, Meta(description="Its password.", extra={"is_secret": True})] = ""
    host: Annotated[
        str, Meta(description="Host of your PostgreSQL; empty for one that the master runs.")
    ] = ""
    port: Annotated[int, Meta(ge=1, le=65535, description="Its port.")] = 5432
    name: Annotated[str, Meta(description="Name of the database.")] = ""
    ssl_mode: Annotated[SslMode, Meta(description="As PostgreSQL's sslmode.")] = "disable"
    ssl_root_cert: Annotated[str, Meta(description="File of authorities to trust.")] = ""
    data_dir: Annotated[
        str,
        Meta(
            description=(
                "Directory of the PostgreSQL that the master runs. Default: "
                "$XDG_DATA_HOME/determined/CLUSTER/postgres, for root below "
                "/var/lib/determined."
            )
        ),
    ] = ""
    migrations: str = ""
    views_and_triggers: str = ""


class Proxy(Struct, frozen=True, kw_only=True):
    """Services of tasks in browsers."""

    address: Annotated[
        str,
        Meta(
            description=(
                "Address at which browsers open services of tasks, as http(s)://HOST[:PORT]. It "
                "must lead to this master. With {service} in HOST each service has an origin of "
                "its own; {host} as HOST stands for the host at which a browser reached the "
                "master. Empty: the master's host at proxy.port."
            )
        ),
    ] = ""
    port: Annotated[
        int | None,
        Meta(
            description=(
                "Port on which the master listens for services of tasks; 0 for none. Default: "
                "1000 more than port, if it is free and proxy.address is empty."
            ),
        ),
    ] = None


class LogSettings(Struct, frozen=True, kw_only=True):
    level: Annotated[LogLevel, Meta(description="Least urgent lines to write.")] = "info"
    color: Annotated[bool, Meta(description="Whether a terminal gets colours.")] = True


class Cache(Struct, frozen=True, kw_only=True):
    """The cache directory; its files may be deleted while no master runs."""

    cache_dir: Annotated[
        str,
        Meta(
            description=(
                "Directory of large request bodies while they are incomplete; it needs a disk, "
                "not memory. Default: cache beside db.data_dir; with a database of yours "
                "$XDG_CACHE_HOME/determined, for root /var/cache/determined."
            )
        ),
    ] = ""


class TaskLogging(Struct, frozen=True, kw_only=True):
    """Where tasks' logs are kept."""

    type: Annotated[str, Meta(description="Only default: the database.")] = "default"


class Telemetry(Struct, frozen=True, kw_only=True):
    """Accepted for older files. The master never sends telemetry."""

    enabled: Annotated[bool, Meta(description="Has no effect: nothing is ever sent.")] = False
    segment_master_key: Annotated[str, Meta(extra={"is_secret": True})] = ""
    segment_webui_key: Annotated[str, Meta(extra={"is_secret": True})] = ""
    otel_enabled: bool = False
    otel_endpoint: str = "localhost:4317"
    cluster_id: str = ""


class Observability(Struct, frozen=True, kw_only=True):
    """Metrics for Prometheus."""

    enable_prometheus: Annotated[
        bool,
        Meta(
            description=(
                "Whether /debug/prom/metrics, /prom/det-state-metrics and "
                "/prom/det-http-sd-config are served, to callers with a token."
            )
        ),
    ] = True


class Retention(Struct, frozen=True, kw_only=True):
    """How long tasks' logs are kept."""

    log_retention_days: Annotated[
        int | None, Meta(description="Days after a task's end; -1 or none forever.")
    ] = None
    schedule: Annotated[
        str | None, Meta(description="When to clean up: a duration or five cron fields.")
    ] = None


class UserStorageSettings(Struct, frozen=True, kw_only=True):
    """Bounds of the bytes that the work of one user takes in the database, by samples."""

    warning_gib: Annotated[
        float,
        Meta(
            ge=0,
            description=(
                "GiB from which /health and the log name a user to admins, once an hour; 0 for "
                "never."
            ),
        ),
    ] = 50.0
    max_gib: Annotated[
        float,
        Meta(ge=0, description="GiB from which a user submits no more work; 0 for no bound."),
    ] = 0.0


class WebhookSettings(Struct, frozen=True, kw_only=True):
    """Calls to other services."""

    signing_key: Annotated[
        str,
        Meta(
            description="Key of signatures (HMAC-SHA256); by default one of the cluster's own.",
            extra={"is_secret": True},
        ),
    ] = ""
    base_url: Annotated[
        str, Meta(description="Address of the master for links in messages; none without it.")
    ] = ""
    allowed_networks: Annotated[
        tuple[str, ...],
        Meta(
            description=(
                "Loopback, link-local and private networks that users may send to, "
                "such as 10.1.0.0/16."
            )
        ),
    ] = ()

    def networks(self) -> tuple[IPNetwork, ...]:
        """The allowed networks. Raises ValueError."""
        return networks_of(self.allowed_networks)


class LogoPaths(Struct, frozen=True, kw_only=True):
    """Image files of a custom logo; all four or none."""

    dark_horizontal: Annotated[
        str, Meta(description="Image file of the logo for the dark theme, wide.")
    ] = ""
    dark_vertical: Annotated[
        str, Meta(description="The same for narrow places, such as the collapsed side bar.")
    ] = ""
    light_horizontal: Annotated[
        str, Meta(description="Image file of the logo for the light theme, wide.")
    ] = ""
    light_vertical: Annotated[
        str, Meta(description="The same for narrow places, such as the collapsed side bar.")
    ] = ""


class UiCustomization(Struct, frozen=True, kw_only=True):
    """The appearance of the web interface."""

    logo_paths: LogoPaths | None = None


class Pachyderm(Struct, frozen=True, kw_only=True):
    """Where Pachyderm is."""

    address: Annotated[str, Meta(description="Has no effect in this version.")] = ""


class Integrations(Struct, frozen=True, kw_only=True):
    """Other products."""

    pachyderm: Pachyderm = Pachyderm()


class ExternalSessions(Struct, frozen=True, kw_only=True):
    """Sign-in by an external service."""

    login_uri: str = ""
    logout_uri: str = ""
    invalidation_uri: str = ""
    jwt_key: Annotated[str, Meta(extra={"is_secret": True})] = ""
    org_id: str = ""
    cluster_id: str = ""


class InternalSettings(Struct, frozen=True, kw_only=True):
    """Options for developers of the master."""

    audit_logging_enabled: Annotated[
        bool, Meta(description="Has no effect: the audit log is always written.")
    ] = False
    external_sessions: ExternalSessions = ExternalSessions()
    proxied_servers: tuple[dict[str, Any], ...] = ()


def shown_provider(section: dict[str, Any]) -> dict[str, Any]:
    """An identity provider in the form that clients know."""
    return {"enabled": False, **section}


IdentityProvider = Annotated[
    dict[str, Any],
    Meta(
        description="Sign-in elsewhere; not in this version.",
        extra={"shown": shown_provider},
    ),
]
