"""Admission of agents: checks an agent's hello against this master."""

from __future__ import annotations

import asyncio

import msgspec

from determined_master.backends.agents.frames import MAX_FIRST_FRAME_BYTES, Frames, Malformed
from determined_master.ports.agents import AgentEvents, JoinPolicy, Refusal
from determined_wire.agent_link import PROTOCOL, Hello


class MasterIdentity(msgspec.Struct, frozen=True, kw_only=True):
    """The data that this master sends to agents."""

    master_id: str
    cluster_id: str
    cluster_name: str
    version: str
    epoch: int = 0
    """Of the leadership under which orders are given; known once agents are admitted."""


async def receive_hello(frames: Frames, limit_s: float) -> Hello:
    """An agent's first message. Raises Malformed for another message, or after a timeout."""
    try:
        async with asyncio.timeout(limit_s):
            message = await frames.receive(MAX_FIRST_FRAME_BYTES)
    except TimeoutError as error:
        raise Malformed(f"no hello within {limit_s:g} s") from error
    if not isinstance(message, Hello):
        raise Malformed(f"the first message is a {type(message).__name__}, not a hello")
    return message


async def refusal_of(
    hello: Hello, frames: Frames, identity: MasterIdentity, joins: JoinPolicy
) -> Refusal | None:
    """Why an agent may not join."""
    problem = _problem_of(hello, frames, identity)
    if problem is not None:
        return problem
    return await joins.check(hello, frames.remote_address, certificate=frames.certificate)


def _problem_of(hello: Hello, frames: Frames, identity: MasterIdentity) -> Refusal | None:
    if frames.is_from_browser:
        return Refusal("this address is for agents; web pages may not use it")
    if hello.protocol != PROTOCOL:
        return Refusal(
            f"agent {hello.agent_id} ({hello.version}) speaks protocol {hello.protocol} and "
            f"this master ({identity.version}) {PROTOCOL}: install the same version on both"
        )
    if not hello.agent_id.strip():
        return Refusal("the agent has no id: set its option `agent_id`")
    is_same_cluster = hello.cluster_id == identity.cluster_id
    if is_same_cluster and hello.acknowledged_epoch > identity.epoch:
        return Refusal(
            f"agent {hello.agent_id} has obeyed a master of epoch {hello.acknowledged_epoch}; "
            f"this one, of epoch {identity.epoch}, is out of date",
            is_final=False,
        )
    return None


def obeyed(hello: Hello, identity: MasterIdentity) -> int:
    """Number of the last order of this cluster and epoch that the agent has carried out."""
    theirs = hello.cluster_id, hello.acknowledged_epoch
    is_ours = theirs == (identity.cluster_id, identity.epoch)
    return hello.acknowledged if is_ours else 0


def given_up(hello: Hello, identity: MasterIdentity, events: AgentEvents) -> tuple[str, ...]:
    """Containers that a late agent still runs and this master has given up.

    Another agent took its id while it was disconnected; only the agent itself can end its
    containers.
    """
    if hello.cluster_id != identity.cluster_id:
        return ()
    expected = events.wanted(hello.agent_id)
    return tuple(c.container_id for c in hello.containers if c.container_id not in expected)
