"""These tests import PyTorch: `tests/pytorch/test_units.py` runs them where it is installed."""

from __future__ import annotations

from importlib.util import find_spec

if find_spec("torch") is None:
    collect_ignore_glob = ["test_*.py"]
