"""Settings of who may come in, and of the master's own certificates and keys."""

from __future__ import annotations

from typing import Annotated, Any, Literal

import msgspec
from msgspec import Meta, to_builtins

Struct = msgspec.Struct
MAX_LIFESPAN_DAYS = 106751


class TaskUser(Struct, frozen=True, kw_only=True):
    """Whom tasks run as when their owner is linked to no system user."""

    user: Annotated[str, Meta(description="Name of the user.")] = "root"
    uid: Annotated[int, Meta(ge=0, description="Number of the user.")] = 0
    group: Annotated[str, Meta(description="Name of the group.")] = "root"
    gid: Annotated[int, Meta(ge=0, description="Number of the group.")] = 0


def shown_user(task: TaskUser) -> dict[str, Any]:
    """A task's user as clients know it: as a link of a user that there is not."""
    return {"id": 0, "user_id": 0, **to_builtins(task)}


class Tls(Struct, frozen=True, kw_only=True):
    """Serving HTTPS."""

    cert: Annotated[str, Meta(description="File of the certificate chain.")] = ""
    key: Annotated[str, Meta(description="File of its private key.")] = ""


class Ssh(Struct, frozen=True, kw_only=True):
    """Keys that the master makes for shells and for ranks of one trial."""

    key_type: Annotated[
        Literal["RSA", "ECDSA", "ED25519"], Meta(description="Kind of new keys.")
    ] = "ED25519"
    rsa_key_size: Annotated[
        int, Meta(ge=0, le=16384, description="Bits of RSA keys; those made are of 1024 to 4096.")
    ] = 0


class RoleOfCreator(Struct, frozen=True, kw_only=True):
    """What the creator of a workspace becomes in it."""

    enabled: bool = True
    role_id: Annotated[int, Meta(ge=1)] = 2


class Authz(Struct, frozen=True, kw_only=True):
    """Who may do what."""

    type: Annotated[str, Meta(description="Only basic: owners and admins.")] = "basic"
    fallback: str | None = "basic"
    rbac_ui_enabled: bool | None = None
    workspace_creator_assign_role: RoleOfCreator = RoleOfCreator()
    strict_job_queue_control: bool = False
    strict_ntsc_enabled: bool = msgspec.field(default=False, name="_strict_ntsc_enabled")


class Token(Struct, frozen=True, kw_only=True):
    """Access tokens that users make for their scripts."""

    default_lifespan_days: Annotated[
        int, Meta(ge=-1, le=MAX_LIFESPAN_DAYS, description="Life of a new token; -1 for ever.")
    ] = 30
    max_lifespan_days: Annotated[
        int, Meta(ge=-1, le=MAX_LIFESPAN_DAYS, description="Longest life; -1 for no limit.")
    ] = 30


class Security(Struct, frozen=True, kw_only=True):
    """Who may come in."""

    default_task: Annotated[TaskUser, Meta(extra={"shown": shown_user})] = TaskUser()
    tls: Tls = Tls()
    ssh: Ssh = Ssh()
    authz: Authz = Authz()
    token: Token = Token()
    initial_user_password: Annotated[
        str,
        Meta(
            description=(
                "Password of admin and determined on a new database; without one the first "
                "start makes one up, prints it once and writes it to the data directory."
            ),
            extra={"is_secret": True},
        ),
    ] = ""
    agent_join: Annotated[
        Literal["token", "open"] | None,
        Meta(
            description=(
                "Whether an agent must show the cluster's join token (`det agent token`). "
                "Default: token, open for a master that only this machine can reach."
            )
        ),
    ] = None
    allow_process_runtime: Annotated[
        bool | None,
        Meta(
            description=(
                "Whether agents may run tasks as plain processes, which isolates nothing. "
                "Default: only for a master that only this machine can reach."
            )
        ),
    ] = None
