"""A run of W&B, as a trial: its configuration, reports, summary and artifacts."""

from __future__ import annotations

import pathlib
from typing import Any, Callable, Dict, List, Mapping, Optional, Sequence, Tuple, Union

from determined.compat import _recorder
from determined.compat._recorder import Recorder, logger

PathLike = Union[str, pathlib.Path]


class Config(Dict[str, Any]):
    """The configuration of a run: a dict whose entries are attributes, too."""

    def __getattr__(self, name: str) -> Any:
        try:
            return self[name]
        except KeyError:
            names = ", ".join(sorted(self)) or "none"
            raise AttributeError(f"the config has no {name!r}; it has: {names}") from None

    def __setattr__(self, name: str, value: Any) -> None:
        self[name] = value

    def update(self, *args: Any, **kwargs: Any) -> None:
        """Set entries; W&B's `allow_val_change` is accepted."""
        kwargs.pop("allow_val_change", None)
        super().update(*args, **kwargs)

    def setdefaults(self, values: Mapping[str, Any]) -> None:
        """Set the entries that are missing."""
        for name, value in values.items():
            self.setdefault(name, value)

    def as_dict(self) -> Dict[str, Any]:
        return dict(self)


class Artifact:
    """Files with a name and a type, stored as a checkpoint."""

    def __init__(
        self,
        name: str,
        type: str,
        description: Optional[str] = None,
        metadata: Optional[Mapping[str, Any]] = None,
        **_ignored: Any,
    ) -> None:
        self.name, self.type, self.description = name, type, description
        self.metadata = dict(metadata or {})
        self.files: List[Tuple[pathlib.Path, str]] = []
        self.uuid: Optional[str] = None
        """Of the checkpoint, once it is logged."""

    def add_file(self, local_path: PathLike, name: Optional[str] = None, **_ignored: Any) -> None:
        path = pathlib.Path(local_path)
        self.files.append((path, name or path.name))

    def add_dir(self, local_path: PathLike, name: Optional[str] = None, **_ignored: Any) -> None:
        root = pathlib.Path(local_path)
        if not root.is_dir():
            raise ValueError(f"{root} is no directory")
        for path in sorted(each for each in root.rglob("*") if each.is_file()):
            self.files.append((path, str(pathlib.PurePath(name or "", path.relative_to(root)))))


class Run:
    """An open run."""

    def __init__(
        self,
        recorder: Recorder,
        config: Mapping[str, Any],
        name: Optional[str],
        project: Optional[str],
        on_end: Callable[[], None] = lambda: None,
    ) -> None:
        self._recorder = recorder
        self._on_end = on_end
        self.config = Config({**config, **recorder.hparams})
        self.summary: Dict[str, Any] = {}
        self.name, self.project = name, project
        self.id = str(recorder.trial_id or "local")
        self.resumed = recorder.is_resumed
        self.step = 0
        self._pending: Dict[str, Any] = {}

    def log(
        self,
        data: Mapping[str, Any],
        step: Optional[int] = None,
        commit: Optional[bool] = None,
        **_ignored: Any,
    ) -> None:
        """Report values at a step, by default at the next one.

        As with W&B, values of one step are collected until a later step or a commit, and values
        of an earlier step are dropped with a warning.
        """
        if step is not None and step < self.step:
            logger.warning("step %d is before the current step %d: dropped", step, self.step)
            return
        if step is not None and step > self.step:
            self._flush()
            self.step = step
        self._pending.update(data)
        self.summary.update(_recorder.flat(data))
        if commit or (commit is None and step is None):
            self._flush()
            self.step += 1

    def alert(self, title: str, text: str, level: Any = "info", **_ignored: Any) -> None:
        self._recorder.alert(title, text, str(getattr(level, "value", level)).lower())

    def log_artifact(
        self,
        artifact_or_path: Union[Artifact, PathLike],
        name: Optional[str] = None,
        type: Optional[str] = None,
        aliases: Sequence[str] = (),
        **_ignored: Any,
    ) -> Artifact:
        """Store files as a checkpoint of the trial.

        Raises:
            FileNotFoundError: one of them does not exist.
        """
        artifact = artifact_or_path
        if not isinstance(artifact, Artifact):
            path = pathlib.Path(artifact)
            artifact = Artifact(name or path.name, type or "unspecified")
            (artifact.add_dir if path.is_dir() else artifact.add_file)(path)
        about = {"artifact": artifact.name, "type": artifact.type, "aliases": list(aliases)}
        metadata = {**artifact.metadata, **about}
        artifact.uuid = self._recorder.store(artifact.files, self.step, metadata)
        return artifact

    def save(self, path: PathLike, **_ignored: Any) -> None:
        """Store one file, or the files that match a pattern, as a checkpoint."""
        given = pathlib.Path(path)
        paths = sorted(given.parent.glob(given.name)) or [given]
        self._recorder.store(
            [(each, each.name) for each in paths], self.step, {"artifact": "files"}
        )

    def watch(self, *_args: Any, **_ignored: Any) -> None:
        """Record nothing: gradients are not reported."""

    def define_metric(self, *_args: Any, **_ignored: Any) -> None:
        """Record nothing: charts choose their axis."""

    def finish(self, exit_code: Optional[int] = None, **_ignored: Any) -> None:
        """Report what waits, set config and summary as metadata of the trial, and close it."""
        self._flush()
        self._recorder.note(config=self.config, summary=self.summary, exit_code=exit_code)
        self._recorder.close()
        self._on_end()

    def _flush(self) -> None:
        values, self._pending = self._pending, {}
        self._recorder.report(self.step, values)

    def __enter__(self) -> Run:
        return self

    def __exit__(self, kind: Any, *_error: Any) -> None:
        self.finish(exit_code=0 if kind is None else 1)
