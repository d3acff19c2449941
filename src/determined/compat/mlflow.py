"""The functions of MLflow that training loops call, reporting to a trial.

    from determined.compat import mlflow

    with mlflow.start_run(run_name="digits"):
        mlflow.log_param("lr", 0.1)
        mlflow.log_metric("val_loss", 0.3, step=1)

Parameters and tags are metadata of the trial, artifacts are checkpoints. A metric without a step
counts its calls from 0.
"""

from __future__ import annotations

import pathlib
from typing import Any, Dict, Mapping, NamedTuple, Optional, Union

from determined.compat import _recorder
from determined.compat._recorder import Recorder, logger

PathLike = Union[str, pathlib.Path]


class RunInfo(NamedTuple):
    """What identifies a run."""

    run_id: str
    experiment_id: str
    run_name: Optional[str]


class ActiveRun:
    """An open run, for a `with` block."""

    def __init__(self, recorder: Recorder, name: Optional[str]) -> None:
        self._recorder = recorder
        self._params: Dict[str, Any] = {}
        self._tags: Dict[str, Any] = {}
        self._steps: Dict[str, int] = {}
        self._last_step = 0
        self.info = RunInfo(
            str(recorder.trial_id or "local"), str(recorder.experiment_id or "local"), name
        )

    def _step(self, name: str, step: Optional[int]) -> int:
        chosen = self._steps.get(name, -1) + 1 if step is None else int(step)
        self._steps[name] = max(chosen, self._steps.get(name, 0))
        self._last_step = max(chosen, self._last_step)
        return chosen

    def __enter__(self) -> ActiveRun:
        return self

    def __exit__(self, kind: Any, *_error: Any) -> None:
        end_run("FINISHED" if kind is None else "FAILED")


_active: Optional[ActiveRun] = None
_experiment_name: Optional[str] = None


def set_experiment(experiment_name: Optional[str] = None, **_ignored: Any) -> None:
    """Name the detached experiments of this process."""
    global _experiment_name
    _experiment_name = experiment_name


def set_tracking_uri(uri: PathLike) -> None:
    """Do nothing: reports go to the cluster that `det` uses."""
    logger.info("the tracking URI %s is not used", uri)


def start_run(
    run_id: Optional[str] = None,
    experiment_id: Optional[str] = None,
    run_name: Optional[str] = None,
    nested: bool = False,
    tags: Optional[Mapping[str, Any]] = None,
    **_ignored: Any,
) -> ActiveRun:
    """Open a run. Arguments are those of MLflow; `run_id` is an id of your choice.

    Raises:
        RuntimeError: a run is open already; nested runs are not supported.
    """
    from determined.experimental import core_v2

    global _active
    if _active is not None:
        reason = "nested runs are not supported" if nested else "end it with mlflow.end_run()"
        raise RuntimeError(f"run {_active.info.run_id} is open already: {reason}")
    config = core_v2.DefaultConfig(
        name=run_name or _experiment_name,
        external_experiment_id=run_id,
        external_trial_id=run_id,
    )
    _active = ActiveRun(_recorder.open_recorder(config), run_name)
    if tags:
        set_tags(tags)
    return _active


def active_run() -> Optional[ActiveRun]:
    """The open run, if there is one."""
    return _active


def end_run(status: str = "FINISHED") -> None:
    """Close the run, if one is open."""
    global _active
    ended, _active = _active, None
    if ended is not None:
        ended._recorder.note(status=status)
        ended._recorder.close()


def log_param(key: str, value: Any, **_ignored: Any) -> Any:
    """Set a parameter; returns its value."""
    log_params({key: value})
    return value


def log_params(params: Mapping[str, Any], **_ignored: Any) -> None:
    active = _opened()
    active._params.update(params)
    active._recorder.note(params=active._params)


def set_tag(key: str, value: Any) -> None:
    set_tags({key: value})


def set_tags(tags: Mapping[str, Any]) -> None:
    active = _opened()
    active._tags.update(tags)
    active._recorder.note(tags=active._tags)


def log_metric(key: str, value: Any, step: Optional[int] = None, **_ignored: Any) -> None:
    """Report one number at a step."""
    log_metrics({key: value}, step)


def log_metrics(metrics: Mapping[str, Any], step: Optional[int] = None, **_ignored: Any) -> None:
    """Report numbers at a step."""
    active = _opened()
    by_step: Dict[int, Dict[str, Any]] = {}
    for name, value in metrics.items():
        by_step.setdefault(active._step(name, step), {})[name] = value
    for number, values in sorted(by_step.items()):
        active._recorder.report(number, values)


def log_artifact(local_path: PathLike, artifact_path: Optional[str] = None, **_: Any) -> None:
    """Store a file as a checkpoint. Raises FileNotFoundError."""
    path = pathlib.Path(local_path)
    _store([(path, str(pathlib.PurePath(artifact_path or "", path.name)))])


def log_artifacts(local_dir: PathLike, artifact_path: Optional[str] = None, **_: Any) -> None:
    """Store the files of a directory as one checkpoint. Raises ValueError: it is none."""
    root = pathlib.Path(local_dir)
    if not root.is_dir():
        raise ValueError(f"{root} is no directory")
    paths = sorted(each for each in root.rglob("*") if each.is_file())
    names = (str(pathlib.PurePath(artifact_path or "", p.relative_to(root))) for p in paths)
    _store(list(zip(paths, names)))


def autolog(*_args: Any, disable: bool = False, **_ignored: Any) -> None:
    """Record what frameworks train, as `determined.autolog()`: into the open run, if there is one.

    Args:
        disable: record nothing from now on.
    """
    import determined

    determined.autolog(frameworks=[] if disable else None)


class Flavor:
    """The part of MLflow for one framework, such as `mlflow.sklearn`: its `autolog`."""

    def __init__(self, name: str, *frameworks: str) -> None:
        self._name = name
        self._frameworks = frameworks

    def autolog(self, *_args: Any, disable: bool = False, **_ignored: Any) -> None:
        """Record this framework too; with `disable`, no more."""
        import determined
        from determined._autolog import recorded_frameworks

        others = recorded_frameworks() - set(self._frameworks)
        determined.autolog(frameworks=others if disable else others | set(self._frameworks))

    def __getattr__(self, name: str) -> Any:
        raise AttributeError(f"determined.compat.mlflow.{self._name} has autolog, and no {name!r}")


keras = tensorflow = Flavor("keras", "keras")
lightgbm = Flavor("lightgbm", "lightgbm")
pytorch = Flavor("pytorch", "lightning", "torch")
sklearn = Flavor("sklearn", "sklearn")
transformers = Flavor("transformers", "transformers")
xgboost = Flavor("xgboost", "xgboost")


def _store(files: Any) -> None:
    active = _opened()
    active._recorder.store(files, active._last_step, {"artifact": "files"})


def _opened() -> ActiveRun:
    """The open run; as with MLflow, the first call opens one."""
    return _active if _active is not None else start_run()


def __getattr__(name: str) -> Any:
    raise AttributeError(
        f"determined.compat.mlflow has no {name!r}. It has start_run, end_run, active_run, "
        "set_experiment, log_param, log_metric, set_tag and log_artifact, and their plurals; and "
        "autolog, also of a framework, such as mlflow.sklearn.autolog"
    )
