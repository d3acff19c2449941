"""The agent's first message: its identity, slots, containers and join token."""

from __future__ import annotations

from pathlib import Path

import msgspec

from determined_agent import clock
from determined_agent.link.agent_key import AgentKey
from determined_agent.link.host_identity import account_name
from determined_agent.link.streams import ReceiveSequence
from determined_agent.settings.options import Settings
from determined_wire.agent_link import PROTOCOL, ContainerReport, Device, Hello


class AgentIdentity(msgspec.Struct, frozen=True, kw_only=True):
    """This run of the agent, and its slots."""

    boot_id: str
    """New at each start of the process."""
    version: str
    hostname: str
    devices: tuple[Device, ...]
    key: AgentKey


class JoinTokenError(Exception):
    """The file of the join token cannot be used; the text names the remedy."""


class KnownState(msgspec.Struct, frozen=True, kw_only=True):
    """The agent's containers, and the newest master that it has obeyed."""

    containers: tuple[ContainerReport, ...]
    cluster_id: str
    epoch: int


def hello(
    settings: Settings,
    identity: AgentIdentity,
    state: KnownState,
    received: ReceiveSequence,
    address: str,
) -> Hello:
    """Build the message. Raises JoinTokenError."""
    return Hello(
        protocol=PROTOCOL,
        agent_id=settings.agent_id,
        boot_id=identity.boot_id,
        version=identity.version,
        resource_pool=settings.resource_pool or "default",
        hostname=identity.hostname,
        address=address,
        devices=identity.devices,
        containers=state.containers,
        join_token=join_token(settings, is_needed=not identity.key.is_known),
        key=identity.key.text,
        runtime=settings.container_runtime,
        acknowledged_epoch=state.epoch,
        acknowledged=received.last if received.epoch == state.epoch else 0,
        cluster_id=state.cluster_id,
        sent_at_us=int(clock.now().timestamp() * 1e6),
        account=account_name() if settings.container_runtime == "process" else "",
    )


def join_token(settings: Settings, *, is_needed: bool) -> str:
    """Return the join token; its file is read again at each attempt.

    Args:
        settings: the agent's.
        is_needed: whether the key alone does not admit the agent yet.

    Raises:
        JoinTokenError: the file cannot be used, and the token is needed.
    """
    if settings.join_token or not settings.join_token_file:
        return settings.join_token
    file = settings.join_token_file
    try:
        token = Path(file).read_text().strip()
    except OSError as error:
        if not is_needed:
            return ""
        raise JoinTokenError(
            f"join_token_file {file} cannot be read: {error.strerror}; name a "
            "file that the agent may read, with the output of `det -u admin agent token`"
        ) from error
    # The file may be about to be written. Without a token the master would refuse it permanently.
    if not token and is_needed:
        raise JoinTokenError(
            f"join_token_file {file} is empty; write the output of `det -u admin agent token` "
            "into it"
        )
    return token
