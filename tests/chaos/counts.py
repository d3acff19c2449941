"""The kinds of violations that are counted apart."""

from __future__ import annotations

KINDS = ("lost", "doubled", "leased twice", "left behind", "other")


def kind_of(violation: str) -> str:
    """The kind of one, by its first words."""
    kind = violation.partition(":")[0]
    return kind if kind in KINDS else "other"
