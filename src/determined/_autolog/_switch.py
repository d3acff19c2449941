"""The switch: which frameworks are recorded, and at the import of which module each is."""

from __future__ import annotations

import functools
import importlib
import sys
from typing import Any, Callable, Dict, Iterable, NamedTuple, Optional

from determined._autolog import _session
from determined._autolog._hooks import AfterImport
from determined._autolog._session import logger


class Framework(NamedTuple):
    """How a framework is recorded."""

    module: str
    """The module of `determined._autolog` whose `install(name)` is called."""
    imports: Iterable[str]
    """The modules after whose import it is called, each with its name."""
    supported: Iterable[str] = ()
    """Major versions; none if a package of ours checks them."""


FRAMEWORKS: Dict[str, Framework] = {
    "keras": Framework("_keras", ("keras",)),
    "lightgbm": Framework("_lightgbm", ("lightgbm",), ("4",)),
    "lightning": Framework("_lightning", ("lightning.pytorch", "pytorch_lightning")),
    "sklearn": Framework("_sklearn", ("sklearn.base",), ("1",)),
    "torch": Framework(
        "_torch", ("torch.optim.optimizer", "torch.utils.tensorboard.writer"), ("2",)
    ),
    "transformers": Framework("_transformers", ("transformers.trainer",)),
    "xgboost": Framework("_xgboost", ("xgboost",), ("2", "3")),
}

_is_installed = False


def autolog(*, frameworks: Optional[Iterable[str]] = None, training_score: bool = True) -> None:
    """Record the parameters and metrics of what this process trains from now on.

    It takes calls of scikit-learn, Keras, Lightning, transformers, XGBoost and LightGBM, and
    TensorBoard's scalars and the optimizers of plain PyTorch, whether they are imported already or
    later. A call with a callback of ours reports by that alone. Reports go to the context that the
    script has open, in a trial without one to the trial, and elsewhere as `determined.compat`
    sends them. A second call replaces the arguments.

    Args:
        frameworks: those to record, by the names of their modules; None for all, an empty list
            switches it off.
        training_score: score each fitted estimator of scikit-learn on its training data.

    Raises:
        ValueError: a framework is not one of these.
    """
    chosen = frozenset(FRAMEWORKS if frameworks is None else frameworks)
    unknown = sorted(chosen - set(FRAMEWORKS))
    if unknown:
        raise ValueError(
            f"autolog does not record {', '.join(unknown)}: frameworks are {', '.join(FRAMEWORKS)}"
        )
    _session.switch(chosen, training_score)
    global _is_installed
    if not _is_installed:
        _is_installed = True
        AfterImport(
            {
                imported: functools.partial(_install, name, imported)
                for name, framework in FRAMEWORKS.items()
                for imported in framework.imports
            }
        ).install()


def _install(name: str, imported: str) -> None:
    framework = FRAMEWORKS[name]
    try:
        _check_version(name, framework.supported)
        install: Callable[[str], Any] = importlib.import_module(
            f"determined._autolog.{framework.module}"
        ).install
        install(imported)
    except Exception as error:  # the script's own import must not fail
        logger.warning("autolog records nothing of %s: %s", name, error)


def _check_version(name: str, supported: Iterable[str]) -> None:
    version = str(getattr(sys.modules[name], "__version__", ""))
    if supported and version.split(".")[0] not in supported:
        raise ImportError(
            f"it records {name} {' and '.join(supported)}, and this Python has {version}: install "
            "one of these"
        )
