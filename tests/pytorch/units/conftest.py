"""These tests import PyTorch: `tests/pytorch/test_units.py` runs them where it is installed."""

from __future__ import annotations

from importlib.util import find_spec

from tests.seeded import seeds

__all__ = ["seeds"]

if find_spec("torch") is None:
    collect_ignore_glob = ["test_*.py"]
