"""The recording of a process: one run for each call that trains, all in one trial."""

from __future__ import annotations

import contextlib
import json
import logging
import os
import pathlib
import sys
from typing import Any, Callable, Dict, FrozenSet, Iterator, Mapping, Optional

from determined import _masking
from determined.compat import _recorder
from determined.compat._recorder import Recorder

logger = logging.getLogger("determined.autolog")

MAX_PARAMS = 100
"""Of one run."""
MAX_PARAM_CHARACTERS = 200
MAX_PARAMS_BYTES = 16 * 1024
"""Of all runs, as JSON; a trial's metadata may have 64 KiB."""

Params = Callable[[], Mapping[str, Any]]


class Run:
    """One call that trains or evaluates. Its steps follow those of the run before."""

    def __init__(self, session: Session, name: str) -> None:
        self._session = session
        self._name = name
        self._base = session.last_step

    def note(self, params: Params) -> None:
        """Add parameters to the metadata of the trial."""
        self._session._guarded(lambda: self._session._note(self._name, params()))

    def report(self, step: int, values: Callable[[], Mapping[str, Any]]) -> None:
        """Report numbers.

        Args:
            step: of this run, from 0.
            values: by name, of one element each; a name whose step is reported already is left
                out.
        """
        self._session._guarded(lambda: self._session._report(self._base + step, values()))

    def report_at(self, step: Optional[int], values: Callable[[], Mapping[str, Any]]) -> None:
        """Report numbers at a step that the script counts; None for the next one."""
        at = self._base + 1 if step is None else int(step)
        self._session._guarded(lambda: self._session._report(at, values()))

    def report_last(self, values: Mapping[str, Any]) -> None:
        """Report numbers of what was trained last, at its step; the same again at the next one."""
        is_second = any(map(self._session.has_reported, values))
        self.report(1 if is_second else 0, lambda: values)


class Session:
    """Records runs of frameworks.

    An error of the recording is logged, and ends the recording instead of the training.

    Attributes:
        frameworks: those that are recorded.
        has_training_score: whether estimators are scored on the data that they were fitted to.
        last_step: the highest step that was reported.
    """

    def __init__(self, frameworks: FrozenSet[str], has_training_score: bool) -> None:
        self.frameworks = frameworks
        self.has_training_score = has_training_score
        self.last_step = 0
        self._process = os.getpid()
        self._recorder: Optional[Recorder] = None
        self._run: Optional[Run] = None
        self._has_failed = False
        self._params: Dict[str, Dict[str, Any]] = {}
        self._steps: Dict[str, int] = {}
        """The last step by the name of a metric."""

    def records(self, framework: str) -> bool:
        """Whether a call of this framework is recorded now, in this process.

        Calls inside of a recorded one are a part of it, and forked processes record nothing.
        """
        return (
            framework in self.frameworks
            and self._run is None
            and not self._has_failed
            and self._process == os.getpid()
        )

    @contextlib.contextmanager
    def run(self, framework: str, name: str, params: Optional[Params] = None) -> Iterator[Any]:
        """The run of one call; None if the call is not recorded.

        Args:
            framework: of the call.
            name: of its parameters in the trial's metadata.
            params: the parameters by name.
        """
        if not self.records(framework):
            yield None
            return
        run = self._run = Run(self, name)
        try:
            if params is not None:
                run.note(params)
            yield run
        finally:
            self._run = None

    @contextlib.contextmanager
    def paused(self) -> Iterator[None]:
        """Record nothing of a call, which reports by a callback of ours."""
        before, self._run = self._run, self._run or Run(self, "")
        try:
            yield
        finally:
            self._run = before

    def has_reported(self, name: str) -> bool:
        """Whether the last step has a metric of this name."""
        return self._steps.get(name) == self.last_step

    def _note(self, name: str, params: Mapping[str, Any]) -> None:
        plain: Dict[str, Any] = {}
        for key, value in _recorder.flat(params).items():
            if value is not None and len(plain) < MAX_PARAMS and not _is_secret(key, value):
                plain[key] = _simple(value)
        if not plain:
            return
        whole = {**self._params, name: {**self._params.get(name, {}), **plain}}
        if len(json.dumps(whole)) > MAX_PARAMS_BYTES:
            text = "the parameters of %s are not recorded: those of this trial have %d KiB already"
            logger.warning(text, name, MAX_PARAMS_BYTES // 1024)
            return
        self._params = whole
        self._opened(plain).note(autolog=whole)

    def _report(self, step: int, values: Mapping[str, Any]) -> None:
        fresh = {n: v for n, v in _recorder.flat(values).items() if step > self._steps.get(n, -1)}
        if fresh:
            self._opened({}).report(step, fresh)
            self._steps.update(dict.fromkeys(fresh, step))
            self.last_step = max(self.last_step, step)

    def _opened(self, hparams: Dict[str, Any]) -> Recorder:
        """The recorder: of the context that the script has open, else of a new one."""
        if self._recorder is None or not self._recorder.is_open:
            self._recorder = _recorder.shared_recorder() or _new_recorder(hparams)
        return self._recorder

    def _guarded(self, record: Callable[[], None]) -> None:
        if self._has_failed:
            return
        try:
            record()
        except Exception as error:  # a training does not end because it is not recorded
            self._has_failed = True
            logger.warning("autolog records nothing more of this process: %s", error)


_session: Optional[Session] = None


def current() -> Optional[Session]:
    """The session of this process, if `autolog` was called in it."""
    return _session


def recorded_frameworks() -> FrozenSet[str]:
    """The frameworks that are recorded in this process."""
    return frozenset() if _session is None else _session.frameworks


def switch(frameworks: FrozenSet[str], has_training_score: bool) -> None:
    """Record these frameworks from now on."""
    global _session
    if _session is None or _session._process != os.getpid():
        _session = Session(frameworks, has_training_score)
    else:
        _session.frameworks, _session.has_training_score = frameworks, has_training_score


def _is_secret(path: str, value: Any) -> bool:
    """Whether a parameter is left out: all who see the trial see its metadata."""
    if not isinstance(value, str):
        return False
    return _masking.has_password(value) or any(map(_masking.is_secret, path.split(".")))


def _simple(value: Any) -> Any:
    """A parameter as metadata can have it; text if it is long, infinite or no number."""
    simple = _recorder.plain(value)
    try:
        text = simple if isinstance(simple, str) else json.dumps(simple, allow_nan=False)
    except ValueError:
        simple = text = str(simple)
    is_long = len(text) > MAX_PARAM_CHARACTERS
    return f"{text[:MAX_PARAM_CHARACTERS]} …" if is_long else simple


def _new_recorder(hparams: Dict[str, Any]) -> Recorder:
    from determined.experimental import core_v2

    script = pathlib.PurePath(sys.argv[0] if sys.argv else "").stem
    name = script if script and script != "-c" else None
    return _recorder.open_recorder(core_v2.DefaultConfig(name=name, hparams=hparams or None))
