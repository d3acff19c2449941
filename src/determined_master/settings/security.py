"""Settings of access, and of the master's own certificates and keys."""

from __future__ import annotations

from typing import Annotated, Literal

import msgspec
from msgspec import Meta

Struct = msgspec.Struct
MAX_LIFESPAN_DAYS = 106751


class TaskUser(Struct, frozen=True, kw_only=True):
    """The account of tasks whose owner has no linked system user."""

    user: Annotated[str, Meta(description="Name of the user.")] = "root"
    uid: Annotated[int, Meta(ge=0, description="Number of the user.")] = 0
    group: Annotated[str, Meta(description="Name of the group.")] = "root"
    gid: Annotated[int, Meta(ge=0, description="Number of the group.")] = 0


class Tls(Struct, frozen=True, kw_only=True):
    """Serving HTTPS."""

    cert: Annotated[str, Meta(description="File of the certificate chain.")] = ""
    key: Annotated[str, Meta(description="File of its private key.")] = ""


class Ssh(Struct, frozen=True, kw_only=True):
    """Keys that the master creates for shells and for the ranks of one trial."""

    key_type: Annotated[
        Literal["RSA", "ECDSA", "ED25519"], Meta(description="Kind of new keys.")
    ] = "ED25519"
    rsa_key_size: Annotated[
        int, Meta(ge=0, le=16384, description="Bits of RSA keys; 1024 to 4096 are possible.")
    ] = 0


class RoleOfCreator(Struct, frozen=True, kw_only=True):
    """The role of a workspace's creator in it."""

    enabled: Annotated[bool, Meta(description="Whether they get a role.")] = True
    role_id: Annotated[int, Meta(ge=1, description="The role; see `det rbac list-roles`.")] = 2


class Authz(Struct, frozen=True, kw_only=True):
    type: Annotated[
        str,
        Meta(
            description=(
                "basic: everybody sees everything; owners and admins control their own things. "
                "rbac: roles decide who sees and does what in which workspace."
            )
        ),
    ] = "basic"
    fallback: str | None = "basic"
    rbac_ui_enabled: Annotated[
        bool | None,
        Meta(description="Whether clients show roles; unset: where type is not basic."),
    ] = None
    workspace_creator_assign_role: RoleOfCreator = RoleOfCreator()
    strict_job_queue_control: Annotated[
        bool, Meta(description="Whether only ClusterAdmin may change places in the job queue.")
    ] = False
    strict_ntsc_enabled: bool = msgspec.field(default=False, name="_strict_ntsc_enabled")

    @property
    def has_roles(self) -> bool:
        """Whether roles decide."""
        return self.type == "rbac"

    @property
    def shows_roles(self) -> bool:
        """Whether clients show roles."""
        return self.has_roles if self.rbac_ui_enabled is None else self.rbac_ui_enabled

    @property
    def creator_role_id(self) -> int | None:
        role = self.workspace_creator_assign_role
        return role.role_id if self.has_roles and role.enabled else None


class Token(Struct, frozen=True, kw_only=True):
    """Access tokens that users create for their scripts."""

    default_lifespan_days: Annotated[
        int, Meta(ge=-1, le=MAX_LIFESPAN_DAYS, description="Life of a new token; -1 forever.")
    ] = 30
    max_lifespan_days: Annotated[
        int, Meta(ge=-1, le=MAX_LIFESPAN_DAYS, description="Longest life; -1 for no limit.")
    ] = 30


class Security(Struct, frozen=True, kw_only=True):
    default_task: TaskUser = TaskUser()
    tls: Tls = Tls()
    ssh: Ssh = Ssh()
    authz: Authz = Authz()
    token: Token = Token()
    initial_user_password: Annotated[
        str,
        Meta(
            description=(
                "Password of admin and determined on a new database. Without one the first start "
                "generates one, prints it once and writes it to the data directory."
            ),
            extra={"is_secret": True},
        ),
    ] = ""
    agent_join: Annotated[
        Literal["token", "open"],
        Meta(
            description=(
                "Whether an agent must show a join token (`det -u admin agent token`). `open` "
                "lets everybody who reaches the master join, also code in tasks, and run others' "
                "tasks."
            )
        ),
    ] = "token"
    trusted_proxies: Annotated[
        tuple[str, ...],
        Meta(
            description=(
                "Networks of reverse proxies in front of the master, such as 10.1.2.3/32. The "
                "master takes the addresses of clients from their X-Forwarded-For and Forwarded, "
                "and from nobody else's."
            )
        ),
    ] = ()
    agent_networks: Annotated[
        tuple[str, ...],
        Meta(
            description=(
                "Networks in which agents may name an address (their option "
                "`advertised_address`) other than that of their connection, such as 10.1.0.0/16. "
                "The master connects to it."
            )
        ),
    ] = ()
    agent_join_token_file: Annotated[
        str,
        Meta(
            description=(
                "File with a further join token, which any number of agents may show. Only the "
                "master's account and its agents may read the file."
            )
        ),
    ] = ""
    allow_process_runtime: Annotated[
        bool | None,
        Meta(
            description=(
                "Whether agents may run tasks as plain processes, which isolates nothing. "
                "Default: only for a master that only this machine can reach."
            )
        ),
    ] = None
