"""The names of 0.38.1 that need a framework, and its error where it is not supported."""

from __future__ import annotations

import sys
import types
from pathlib import Path

import pytest
from tests.names.resolve import problem

from determined import keras

NAMES = (Path(__file__).parents[3] / "data" / "published_names.txt").read_text().splitlines()


@pytest.mark.parametrize("module", ["determined.keras", "determined.transformers"])
def test_every_name_is_ours(module: str) -> None:
    names = [name for name in NAMES if name.startswith(module)]
    assert len(names) > 5
    assert {name: text for name in names if (text := problem(name))} == {}


def test_a_name_of_the_harness_says_what_to_use() -> None:
    with pytest.raises(NotImplementedError, match="build the model, and load its weights"):
        keras.load_model_from_checkpoint_path("checkpoint")


@pytest.mark.parametrize(
    ("version", "text"),
    [("2.15.0", "works with Keras 3, and this Python has 2.15.0"), (None, "needs Keras 3")],
)
def test_an_unsupported_keras_is_named(
    monkeypatch: pytest.MonkeyPatch, version: str | None, text: str
) -> None:
    double = types.ModuleType("keras")
    double.__version__ = version  # type: ignore[attr-defined]
    monkeypatch.setitem(sys.modules, "keras", double if version else None)
    monkeypatch.delitem(sys.modules, "determined.keras._keras")
    with pytest.raises(ImportError, match=text):
        import determined.keras._keras  # noqa: F401
