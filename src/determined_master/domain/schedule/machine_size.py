"""What the machines of a pool on demand hold."""

from __future__ import annotations

import msgspec


class Size(msgspec.Struct, frozen=True, omit_defaults=True):
    """Of one machine, and how many there may be."""

    slots: int
    zero_slot_tasks: int
    """On one, at most."""
    max_machines: int

    def may_hold(self, slots: int, *, is_single_node: bool) -> bool:
        """Whether the pool could hold that if it were as large as it may become, and empty."""
        if slots == 0:
            return self.zero_slot_tasks > 0
        if slots <= self.slots:
            return True
        if self.slots == 0 or is_single_node or slots % self.slots:
            return False
        return slots <= self.slots * self.max_machines
