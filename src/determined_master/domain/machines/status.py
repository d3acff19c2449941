"""The status of a pool's machines, for users who wait for one."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import datetime

import msgspec

from determined_master.domain.machines.starts import MachineStart


class MachineStatus(msgspec.Struct, frozen=True, kw_only=True):
    """The machines of a pool at the last tick."""

    machines: int
    max_machines: int
    starting: int = 0
    """Machines whose agents have not joined yet."""
    starting_since: datetime | None = None
    """When the first of them was launched."""
    start: MachineStart | None = None
    """The last report of the first of them; None before it."""
    failure: str = ""
    """Why the last launch failed; empty after a success, and when no machine is wanted."""
    tried_again_at: datetime | None = None
    """No machine is started before; None without a pause."""
    silent: int = 0
    """How many machines in a row were given up because their agents never joined."""
    failed_start: MachineStart | None = None
    """Why, for the last of them; None where it reported nothing."""
    paused_until: datetime | None = None
    """For that reason no machine is started before, and then only one."""
    cost_per_hour: float | None = None
    """US dollars of all machines by their usual prices; None if unknown."""
    slot_price: float | None = None
    """US dollars of a slot for an hour: the mean of the machines; None if unknown."""
    budget: str = ""
    """Why the pool's budget allows no further machine; empty while it does."""
    over_budget: Mapping[str, str] = {}
    """Requests for which the budget of their workspace allows no machine, with the reason."""
    tried: str = ""
    """Which machines the last launch tried, and the answers, for every user."""
    trouble: str = ""
    """Why the provider does not carry out all requests at present."""

    def sentence(self, *, for_admin: bool = False) -> str:
        """Why no machine starts; empty when there is nothing to report.

        A provider's own text has names of accounts, networks and images, so only admins see it.
        """
        parts = []
        if self.trouble:
            parts.append(
                f"the provider of its machines reports a problem{_why(self.trouble, for_admin)}"
            )
        if self.starting:
            who = "1 machine is" if self.starting == 1 else f"{self.starting} machines are"
            at = self.starting_since
            since = f" since {at.strftime('%H:%M:%S UTC')}" if at is not None else ""
            first = ", the first" if since and self.starting > 1 else ""
            parts.append(f"{who} starting{first}{since}{self._doing()}")
        if self.silent:
            who = "the last machine" if self.silent == 1 else f"the last {self.silent} machines"
            at = None if self.starting else self.paused_until
            then = f"; the next is tried, alone, after {at.strftime('%H:%M:%S UTC')}" if at else ""
            why = "admins find the reason in the cloud's console log"
            if self.failed_start is not None:
                why = self.failed_start.failure(for_admin=for_admin)
            parts.append(f"no agent joined from {who}: {why}{then}")
        if self.failure:
            at = self.tried_again_at
            when = f"until {at.strftime('%H:%M:%S UTC')}" if at else "at present"
            parts.append(f"no machine can be started {when}{_why(self.failure, for_admin)}")
        if self.tried and (self.failure or self.starting):
            parts.append(self.tried)
        if self.machines >= self.max_machines and not self.starting:
            parts.append(f"its pool has reached its maximum of {self.machines} machines")
        if self.budget and not self.starting:
            parts.append(self.budget)
        return "; ".join(parts)

    def _doing(self) -> str:
        if self.start is None:
            return ""
        who = "it" if self.starting == 1 else "the first"
        return f" ({who} {self.start.doing})"


def _why(text: str, for_admin: bool) -> str:
    return f": {text}" if for_admin else ", and only admins see the provider's reason"
