"""The policy for agents that join: their settings, and their keys and tokens."""

from __future__ import annotations

import hmac
from collections.abc import Collection, Sequence
from typing import TYPE_CHECKING, Literal

import msgspec

from determined_master import clock
from determined_master.ports.agents import Refusal
from determined_master.services.cluster.join_tokens import hash_of, machine_token
from determined_master.store.cluster import agent_keys as rows

if TYPE_CHECKING:
    from determined_master.store.db import Conn, Database
    from determined_wire.agent_link import Hello

MAX_SLOTS = 1024
MAX_SLOT_ID = 65_536
Right = Literal["key", "shared", "token", "machine"]
"""By what an agent joins."""


class JoinRules(msgspec.Struct, frozen=True, kw_only=True):
    """The settings of the policy."""

    is_open: bool = False
    shared_token: str = ""
    allow_process_runtime: bool = False
    pools: Sequence[str] = ("default",)
    machine_pools: Collection[str] = ()
    """Those that start machines on demand."""
    needs_certificate: bool = False
    verifies_ids: bool = False


class Join:
    """The policy for agents that join; implements `ports.JoinPolicy`."""

    def __init__(self, rules: JoinRules, db: Database, cluster_secret: bytes) -> None:
        self._rules = rules
        self._db = db
        self._machine_tokens = {
            pool: machine_token(cluster_secret, pool) for pool in rules.machine_pools
        }

    async def check(
        self, hello: Hello, remote_address: str, *, certificate: frozenset[str] | None = None
    ) -> Refusal | None:
        """Why the agent may not join; None when it may. Nothing is spent yet."""
        problem = self._wrong_certificate(hello, remote_address, certificate)
        if problem is not None:
            return Refusal(problem)
        if not self._rules.is_open:
            async with self._db.acquire() as conn:
                right = await self._right_of(conn, hello, remote_address)
            if isinstance(right, Refusal):
                return right
        problem = self._wrong_hello(hello)
        return None if problem is None else Refusal(problem)

    async def bind(self, hello: Hello, remote_address: str) -> Refusal | None:
        """Spend the token of an agent that joins now, and store its key.

        An agent of an earlier release has no key: its token becomes its key.
        """
        if self._rules.is_open:
            return None
        async with self._db.acquire() as conn, conn.transaction():
            right = await self._right_of(conn, hello, remote_address)
            if isinstance(right, Refusal):
                return right
            token = hash_of(hello.join_token)
            if right == "token" and not await rows.delete_token(conn, token):
                return _unknown(hello, remote_address)
            key = hash_of(hello.key) if hello.key else token
            is_new = right in ("token", "machine") or bool(hello.key and right == "shared")
            if is_new or (right == "key" and await rows.find_key(conn, hello.agent_id) != key):
                await rows.upsert_key(conn, hello.agent_id, key, clock.now())
        return None

    def _wrong_certificate(
        self, hello: Hello, remote_address: str, certificate: frozenset[str] | None
    ) -> str | None:
        rules = self._rules
        if rules.needs_certificate and certificate is None:
            return (
                f"agent {hello.agent_id} at {remote_address} showed no certificate: set its "
                "options `security.tls.client_cert` and `client_key` to one that an authority "
                "of the master's `resource_manager.client_ca` has signed"
            )
        if rules.verifies_ids and certificate is not None and hello.agent_id not in certificate:
            return (
                f"agent {hello.agent_id} at {remote_address} showed a certificate of "
                f"{', '.join(sorted(certificate)) or 'nobody'}: give it one whose common name or "
                f"one of whose DNS names is {hello.agent_id}, or set its option `agent_id` to "
                "the name in its certificate"
            )
        return None

    def _wrong_hello(self, hello: Hello) -> str | None:
        """Why the pool, the slots or the runtime of an agent are refused."""
        rules = self._rules
        if hello.resource_pool not in rules.pools:
            return self._wrong_pool(hello)
        wrong = _wrong_slots(hello)
        if wrong is not None:
            return (
                f"agent {hello.agent_id} lists slots that cannot be: {wrong}; look at what "
                "detects its devices, or install the version of this master on it"
            )
        if hello.runtime == "process" and not rules.allow_process_runtime:
            return (
                f"agent {hello.agent_id} would run tasks as plain processes, without isolation: "
                "use another `container_runtime`, or set "
                "`security.allow_process_runtime: true` in the master's configuration"
            )
        return None

    async def _right_of(self, conn: Conn, hello: Hello, remote_address: str) -> Right | Refusal:
        known = await rows.find_key(conn, hello.agent_id)
        shown = [hash_of(secret) for secret in (hello.key, hello.join_token) if secret]
        if known is not None and any(hmac.compare_digest(known, each) for each in shown):
            return "key"
        shared = self._rules.shared_token
        if shared and _equal(hello.join_token, shared):
            return "shared"
        token = await rows.find_token(conn, hash_of(hello.join_token), clock.now())
        if token is not None and token.agent_id == hello.agent_id:
            return "token"
        if token is not None and token.agent_id is not None:
            return Refusal(
                f"agent {hello.agent_id} at {remote_address} shows the join token of agent "
                f"{token.agent_id}: run `det -u admin agent token {hello.agent_id}` for its own"
            )
        expected = self._machine_tokens.get(hello.resource_pool, "")
        is_machine = bool(expected) and _equal(hello.join_token, expected)
        if known is not None and (token is not None or is_machine):
            return _taken(hello, remote_address)
        if token is not None:
            return "token"
        if not is_machine:
            return _unknown(hello, remote_address)
        if await rows.is_machine(conn, hello.resource_pool, hello.agent_id):
            return "machine"
        return Refusal(
            f"resource pool {hello.resource_pool} has no machine {hello.agent_id} yet",
            is_final=False,
        )

    def _wrong_pool(self, hello: Hello) -> str:
        if not self._rules.pools:
            return (
                f"agent {hello.agent_id} cannot join: this master runs tasks on Kubernetes "
                "only, as its `resource_manager.type` says"
            )
        return (
            f"agent {hello.agent_id} wants to join resource pool {hello.resource_pool!r}, "
            f"which does not exist: set its option `resource_pool` to one of "
            f"{', '.join(self._rules.pools)}, or add the pool to the master's `resource_pools`"
        )


def _unknown(hello: Hello, remote_address: str) -> Refusal:
    what = "no join token" if not hello.join_token else "a wrong, spent or expired join token"
    return Refusal(
        f"agent {hello.agent_id} at {remote_address} gave {what}: run `det -u admin agent token "
        f"{hello.agent_id}` and put what it prints into a file that the agent's option "
        "`join_token_file` names"
    )


def _taken(hello: Hello, remote_address: str) -> Refusal:
    return Refusal(
        f"agent {hello.agent_id} at {remote_address} has another key than the agent of this id: "
        "give it another `agent_id`; if its machine was set up again, run `det -u admin agent "
        f"token {hello.agent_id}` and put what it prints into its `join_token_file`"
    )


def _equal(one: str, other: str) -> bool:
    return hmac.compare_digest(one.encode(), other.encode())


def _wrong_slots(hello: Hello) -> str | None:
    """What cannot be true of an agent's slots: then two tasks could be given one device."""
    if len(hello.devices) > MAX_SLOTS:
        return f"{len(hello.devices)} of them, and at most {MAX_SLOTS} are taken"
    ids, uuids = set[int](), set[str]()
    for device in hello.devices:
        if not 0 <= device.id < MAX_SLOT_ID:
            return f"the number {device.id}, and numbers go from 0 to {MAX_SLOT_ID - 1}"
        if device.id in ids:
            return f"the number {device.id} twice"
        if device.uuid and device.uuid in uuids:
            return f"the device {device.uuid} twice"
        ids.add(device.id)
        uuids.add(device.uuid)
    return None
