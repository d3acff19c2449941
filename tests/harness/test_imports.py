"""What runs inside a task needs nothing installed, and loads fast."""

from __future__ import annotations

import subprocess

import pytest
from tests.harness.conftest import SOURCE

PROGRAM = """
import importlib, sys
ALLOWED = {"determined", "urllib3", "ruamel"}

class OnlyOurs:
    def find_spec(self, name, path=None, target=None):
        top = name.partition(".")[0]
        if top in sys.stdlib_module_names_ or top in ALLOWED:
            return None
        raise ImportError(f"{name} is not there inside a task")

names = getattr(sys, "stdlib_module_names", None)
sys.stdlib_module_names_ = names if names is not None else AnyName()
sys.meta_path.insert(0, OnlyOurs())
for module in sys.argv[1:]:
    importlib.import_module(module)
print(",".join(sorted({m.partition(".")[0] for m in sys.modules} & {"urllib3", "ruamel"})))
"""
ANY = "class AnyName:\n    def __contains__(self, name):\n        return True\n"

HOUSES = ("core", "exec", "launch", "ipc", "tensorboard", "common/storage")
MODULES = sorted(
    "determined." + str(path.relative_to(SOURCE / "determined").with_suffix("")).replace("/", ".")
    for house in HOUSES
    for path in (SOURCE / "determined" / house).rglob("*.py")
    if path.name != "__init__.py"
)


PUBLIC = (
    "ClusterInfo",
    "EnvContext",
    "ExperimentConfig",
    "InvalidHP",
    "LOG_FORMAT",
    "LegacyTrial",
    "RendezvousInfo",
    "ResourcesInfo",
    "TrialContext",
    "TrialInfo",
    "__version__",
    "core",
    "errors",
    "get_cluster_info",
    "import_from_path",
    "pytorch",
    "util",
)


@pytest.mark.slow
def test_the_harness_loads_with_nothing_else_installed(python: str) -> None:
    done = subprocess.run(
        [python, "-S", "-c", ANY + PROGRAM, "determined", "determined.util", *MODULES],
        env={"PYTHONPATH": str(SOURCE)},
        capture_output=True,
        text=True,
    )
    assert done.returncode == 0, done.stderr
    assert done.stdout.strip() == ""  # not even these two are loaded


@pytest.mark.slow
def test_training_loops_are_there_without_pytorch_and_say_when_it_lacks(python: str) -> None:
    code = (
        "from determined import pytorch; print(pytorch.Epoch(2).should_stop(4)); "
        "pytorch.PyTorchTrial"
    )
    done = subprocess.run(
        [python, "-S", "-c", code],
        env={"PYTHONPATH": str(SOURCE)},
        capture_output=True,
        text=True,
    )
    assert done.stdout == "True\n"
    assert "ImportError: determined.pytorch needs PyTorch" in done.stderr


@pytest.mark.slow
def test_the_bare_import_loads_next_to_nothing(python: str) -> None:
    code = (
        "import sys; before = set(sys.modules); import determined; "
        "print(len(set(sys.modules) - before))"
    )
    done = subprocess.run(
        [python, "-S", "-c", code],
        env={"PYTHONPATH": str(SOURCE)},
        capture_output=True,
        text=True,
        check=True,
    )
    assert int(done.stdout) <= 3


def test_the_public_names_are_there() -> None:
    import determined as det
    from determined import core

    for name in PUBLIC:
        assert hasattr(det, name)
    for name in core.__all__:
        assert hasattr(core, name)
    with pytest.raises(AttributeError, match="no attribute 'nonsense'"):
        _ = det.nonsense
