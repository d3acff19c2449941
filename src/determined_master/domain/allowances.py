"""How much each user may store for the own use: without a bound, one user fills the database."""

from __future__ import annotations

import msgspec

from determined_master.domain.errors import ResourceExhausted

KIB = 1024
MIB = 1024 * KIB


class Allowance(msgspec.Struct, frozen=True):
    """The most of some things that one user may have."""

    things: str
    count: int
    size_bytes: int
    """Of all of them together."""
    are_replaced: bool = False
    """Whether the oldest ones are deleted for new ones, which are then never refused."""

    def check(self, count: int, size_bytes: int) -> None:
        """Check what a user would have.

        Raises:
            ResourceExhausted: that is too much.
        """
        if count > self.count or size_bytes > self.size_bytes:
            raise ResourceExhausted(
                f"you would have {count} {self.things} with {size_bytes} bytes: a user may have "
                f"at most {self.count} with {self.size_bytes} bytes together, delete some"
            )


LINKS = Allowance("short links of the web UI", 500, 4 * MIB, are_replaced=True)
SETTINGS = Allowance("settings of the user interface", 1000, MIB)
PAGES = Allowance("views and boards", 1000, 16 * MIB)
TOKENS = Allowance("valid access tokens", 100, 64 * KIB)
TEMPLATES = Allowance("templates", 1000, 16 * MIB)
MODELS = Allowance("registered models", 20_000, 16 * MIB)
NOTES = Allowance("notes in a project", 100, MIB)

ALLOWANCES = (LINKS, SETTINGS, PAGES, TOKENS, TEMPLATES, MODELS, NOTES)
