"""These tests import lightning: `tests/frameworks/lightning/test_units.py` runs them."""

from __future__ import annotations

from importlib.util import find_spec

from tests.seeded import seeds

__all__ = ["seeds"]

if find_spec("lightning") is None:
    collect_ignore_glob = ["test_*.py"]
