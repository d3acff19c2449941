"""Import of an entrypoint's class; does not need PyTorch."""

from __future__ import annotations

import pathlib
import sys

import pytest

from determined.exec import harness
from determined.exec._log import EntryFailed


@pytest.fixture(autouse=True)
def model_dir(tmp_path: pathlib.Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "own_models").mkdir()
    (tmp_path / "own_models" / "digits.py").write_text(
        "class Outer:\n    class Inner:\n        pass\n"
    )
    (tmp_path / "own_broken.py").write_text("import not_installed\n")
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(sys, "path", list(sys.path))
    monkeypatch.setattr(sys, "modules", dict(sys.modules))


def test_a_class_is_found_in_the_working_directory() -> None:
    assert harness.load_class("own_models.digits:Outer").__name__ == "Outer"
    assert harness.load_class("own_models.digits:Outer.Inner").__name__ == "Inner"


@pytest.mark.parametrize(
    ("spec", "told"),
    [
        ("nowhere:Model", "the module 'nowhere', which is not in the model directory"),
        ("own_models.more:Model", "'own_models.more', which is not in the model directory"),
        ("own_models.digits:Model", "'own_models.digits' has no class 'Model'"),
    ],
)
def test_a_missing_module_or_class_is_named(spec: str, told: str) -> None:
    with pytest.raises(EntryFailed, match=told):
        harness.load_class(spec)


def test_a_module_that_lacks_another_says_so_itself() -> None:
    with pytest.raises(ModuleNotFoundError, match="not_installed"):
        harness.load_class("own_broken:Model")


def test_a_class_of_something_else_is_no_trial() -> None:
    assert harness.trainer_of(harness.load_class("own_models.digits:Outer")) is None


@pytest.mark.parametrize("argv", [[], ["train.py"], ["a:B", "c"]])
def test_arguments_that_name_no_class_are_refused(argv: list[str]) -> None:
    with pytest.raises(EntryFailed, match="one argument, module:Class"):
        harness.main(argv)
