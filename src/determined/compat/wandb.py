"""The functions of W&B that training loops call, reporting to a trial.

    from determined.compat import wandb

    wandb.init(project="digits", config={"lr": 0.1})
    for epoch in range(10):
        wandb.log({"loss": loss, "val_loss": val_loss})
    wandb.finish()

In a trial, `wandb.config` has the trial's hyperparameters over those of the script. Media, tables
and sweeps are not recorded: their names are there, so that scripts run.
"""

from __future__ import annotations

from typing import Any, Dict, Iterator, Mapping, Optional, Sequence, Union

from determined.compat import _recorder
from determined.compat._wandb_run import Artifact, Config, PathLike, Run


class Media:
    """An image, a table or another medium of W&B, which is not recorded."""

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        pass

    def __iter__(self) -> Iterator[Any]:
        return iter(())

    def add_data(self, *args: Any) -> None:
        """Add nothing."""


Image = Table = Histogram = Video = Audio = Html = Object3D = Media

run: Optional[Run] = None
config = Config()
summary: Dict[str, Any] = {}


def init(
    project: Optional[str] = None,
    entity: Optional[str] = None,
    config: Optional[Mapping[str, Any]] = None,
    name: Optional[str] = None,
    tags: Optional[Sequence[str]] = None,
    notes: Optional[str] = None,
    mode: Optional[str] = None,
    id: Optional[str] = None,
    **_ignored: Any,
) -> Run:
    """Open a run; an open one is closed first. Arguments are those of W&B; others are ignored.

    Args:
        project: the name of a detached experiment, if `name` is missing.
        config: hyperparameters; in a trial, those of the trial have precedence.
        name: of a detached experiment.
        tags: labels of a detached experiment.
        notes: its description.
        mode: `online`, `offline` (reports are logged) or `disabled`.
        id: an id of your choice: a second start with it continues the same trial.
    """
    from determined.experimental import core_v2

    if run is not None:
        run.finish()
    values = dict(config or {})
    defaults = core_v2.DefaultConfig(
        name=name or project,
        hparams=values,
        labels=list(tags) if tags else None,
        description=notes,
        external_experiment_id=id,
        external_trial_id=id,
    )
    opened = Run(_recorder.open_recorder(defaults, mode=mode), values, name, project, _forget)
    opened._recorder.note(config=opened.config, **({"tags": list(tags)} if tags else {}))
    globals().update(run=opened, config=opened.config, summary=opened.summary)
    return opened


def _forget() -> None:
    globals().update(run=None, config=Config(), summary={})


def _opened() -> Run:
    if run is None:
        raise RuntimeError("no run is open: call wandb.init() first")
    return run


def log(data: Mapping[str, Any], step: Optional[int] = None, **more: Any) -> None:
    """See `Run.log`. Raises RuntimeError: no run is open."""
    _opened().log(data, step, **more)


def finish(exit_code: Optional[int] = None, **_ignored: Any) -> None:
    """Close the run, if one is open."""
    if run is not None:
        run.finish(exit_code)


def log_artifact(artifact_or_path: Union[Artifact, PathLike], **more: Any) -> Artifact:
    """See `Run.log_artifact`."""
    return _opened().log_artifact(artifact_or_path, **more)


def save(path: PathLike, **more: Any) -> None:
    """See `Run.save`."""
    _opened().save(path, **more)


def alert(title: str, text: str, **more: Any) -> None:
    """See `Run.alert`."""
    _opened().alert(title, text, **more)


def watch(*args: Any, **kwargs: Any) -> None:
    """Record nothing: gradients are not reported."""


def define_metric(*args: Any, **kwargs: Any) -> None:
    """Record nothing: charts choose their axis."""


def login(*args: Any, **kwargs: Any) -> bool:
    """Do nothing: the login is that of `det user login`."""
    return True


def __getattr__(name: str) -> Any:
    raise AttributeError(
        f"determined.compat.wandb has no {name!r}. It has init, log, config, summary, finish, "
        "Artifact, log_artifact, save and alert; searches replace sweeps, and "
        "client.get_checkpoint replaces use_artifact"
    )
