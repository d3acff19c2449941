"""Identifiers of effects, and the key of an aggregate."""

from __future__ import annotations

import msgspec

Key = tuple[str, str]


class EffectId(msgspec.Struct, frozen=True, order=True):
    """Identifies one effect forever: the `n`-th that the event of that version ordered."""

    kind: str
    aggregate: str
    version: int
    n: int

    def __str__(self) -> str:
        return f"{self.kind}/{self.aggregate}/{self.version}/{self.n}"

    @classmethod
    def parse(cls, text: str) -> EffectId:
        """The inverse of `str`; ValueError for another form."""
        kind, _, rest = text.partition("/")
        aggregate, version, n = rest.rsplit("/", 2)
        return cls(kind, aggregate, int(version), int(n))
