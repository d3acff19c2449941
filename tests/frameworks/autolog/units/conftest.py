"""These tests train with frameworks: `tests/frameworks/autolog/test_units.py` runs them."""

from __future__ import annotations

from collections.abc import Iterator
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import pytest
from tests.seeded import seeds

import determined as det
from determined import core
from determined._autolog import _session

__all__ = ["seeds"]

if find_spec("lightgbm") is None:
    collect_ignore_glob = ["test_*.py"]


@pytest.fixture
def context(tmp_path: Path) -> core.Context:
    """A context of the script, whose reports a `LocalTrial` keeps."""
    from local_trial import LocalTrial

    context = core.make_dummy_context(None, str(tmp_path / "storage"))
    context.train = LocalTrial()
    return context


@pytest.fixture
def trial(context: core.Context, monkeypatch: pytest.MonkeyPatch) -> Iterator[Any]:
    """What autolog records in that context, which is open."""
    monkeypatch.setattr(_session, "_session", None)
    det.autolog()
    with context:
        yield context.train
