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
        parts = (
            self._trouble(for_admin),
            self._starting(),
            self._silent(for_admin),
            self._failure(for_admin),
            self.tried if self.failure or self.starting else "",
            "" if self.starting else self._limit(),
        )
        return "; ".join(part for part in parts if part)

    def _trouble(self, for_admin: bool) -> str:
        if not self.trouble:
            return ""
        return f"the provider of its machines reports a problem{_why(self.trouble, for_admin)}"

    def _starting(self) -> str:
        if not self.starting:
            return ""
        is_one, at = self.starting == 1, self.starting_since
        who = "1 machine is" if is_one else f"{self.starting} machines are"
        since = f" since {_time(at)}" if at is not None else ""
        first = ", the first" if since and not is_one else ""
        doing = ""
        if self.start is not None:
            doing = f" ({'it' if is_one else 'the first'} {self.start.doing})"
        return f"{who} starting{first}{since}{doing}"

    def _silent(self, for_admin: bool) -> str:
        if not self.silent:
            return ""
        who = "the last machine" if self.silent == 1 else f"the last {self.silent} machines"
        at = None if self.starting else self.paused_until
        then = f"; the next is tried, alone, after {_time(at)}" if at else ""
        why = "admins find the reason in the cloud's console log"
        if self.failed_start is not None:
            why = self.failed_start.failure(for_admin=for_admin)
        return f"no agent joined from {who}: {why}{then}"

    def _failure(self, for_admin: bool) -> str:
        if not self.failure:
            return ""
        at = self.tried_again_at
        when = f"until {_time(at)}" if at else "at present"
        return f"no machine can be started {when}{_why(self.failure, for_admin)}"

    def _limit(self) -> str:
        """What allows the pool no further machine: its maximum, its budget, or both."""
        parts = [self.budget] if self.budget else []
        if self.machines >= self.max_machines:
            parts.insert(0, f"its pool has reached its maximum of {self.machines} machines")
        return "; ".join(parts)


def _time(at: datetime) -> str:
    return f"{at:%H:%M:%S UTC}"


def _why(text: str, for_admin: bool) -> str:
    return f": {text}" if for_admin else ", and only admins see the provider's reason"
