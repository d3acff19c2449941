"""Machines on demand: the provider of one pool."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Protocol

import msgspec

from determined_master.domain.machines.offers import OfferReport
from determined_master.domain.machines.scaling import Machine, MachineType


class ProviderFailed(Exception):
    """The provider of machines failed; the text is for admins."""


class LaunchFailed(ProviderFailed):
    """No machine could be started.

    Users see the text too, as their tasks may end because of it.
    """


class MachineSite(msgspec.Struct, frozen=True, kw_only=True):
    """Facts about the master that a provider needs for agents on machines."""

    pool: str
    """The pool that they join."""
    join_token: str
    """The secret with which they join."""
    master_scheme: str
    """`http` or `https`, from this master's listener. The option `master_url` has precedence."""
    master_port: int
    master_cert: str
    """The authority of the master's certificate, in PEM; empty without TLS."""
    cluster_id: str


class MachineProvider(Protocol):
    """Starts and ends the machines of one pool; each runs an agent that joins the pool.

    There is one object for each pool; its calls never overlap. Each has its own deadline, of at
    most a minute.
    """

    @property
    def type(self) -> MachineType:
        """The type of each machine, or of the first of several: all have the same slots.

        Known at once; `open` may find out the location.
        """

    def offers(self) -> OfferReport:
        """The machines that may be had now, in the order of launches, and the last launch."""

    async def open(self) -> None:
        """Learn facts from the provider. Call it first, and again after a failure.

        Raises ProviderFailed.
        """

    async def list_machines(self) -> Sequence[Machine]:
        """All machines of the pool, and requests that are not granted yet.

        Includes machines that were started before a restart of the master. Machines that ended may
        be omitted. Raises ProviderFailed.
        """

    async def launch(
        self, count: int, token: str, *, is_repeated: bool = False
    ) -> Sequence[Machine]:
        """Start machines.

        Args:
            count: how many, at least 1.
            is_repeated: whether the token may have been sent before, also by an earlier master.
            token: a UUID. A repeated token (the master died before it got the answer) starts
                nothing more, and returns the machines of the first call.

        Returns:
            The machines started or requested, possibly fewer than `count`, even if `list_machines`
            takes a while to list them.

        Raises:
            LaunchFailed: none could be started; ProviderFailed: the outcome is unknown.
        """

    async def terminate(self, machine_ids: Sequence[str]) -> None:
        """End machines, or withdraw requests; machines that no longer exist are no error.

        It may be repeated while `list_machines` returns them. Raises ProviderFailed.
        """

    async def close(self) -> None:
        """Close connections; the machines continue."""
