"""A trial without a master: what the tests of all frameworks run and look at."""

from __future__ import annotations

import json
import types
from collections import defaultdict
from pathlib import Path
from typing import Any

from determined import core


class Reports(core.DummyTrainContext):
    """Keeps what is reported; refuses a second report of one step, as a master does."""

    def __init__(self) -> None:
        super().__init__()
        self.made: dict[str, dict[int, dict[str, Any]]] = defaultdict(dict)
        self.progress: list[float] = []

    def _report(self, group: str, steps_completed: int, metrics: Any, batch: Any = None) -> None:
        steps = self.made[group]
        assert steps_completed not in steps
        assert {type(value) for value in metrics.values()} <= {int, float}
        steps[steps_completed] = dict(metrics)

    def _try_report_progress(self, progress: float) -> None:
        self.progress.append(progress)


class Preempts(core.DummyPreemptContext):
    now = False

    def should_preempt(self, auto_ack: bool = True) -> bool:
        return self.now


class SmallTrial:
    """Runs of one trial, each from the last checkpoint of the run before."""

    metric = "val_loss"

    def __init__(self, place: Path) -> None:
        self.place = place
        self.trial_id: int | str = 7
        self.searcher: dict[str, Any] = {"name": "single", "metric": self.metric}
        self.is_managed = True
        self.reports = Reports()
        self.preempt: Any = None
        self.callbacks: list[Any] = []
        self.options: dict[str, Any] = {}

    def checkpoints(self) -> list[dict[str, Any]]:
        """Metadata, in the order of their time."""
        paths = list((self.place / "storage").glob("*/metadata.json"))
        paths.sort(key=lambda path: path.stat().st_mtime_ns)
        return [{**json.loads(path.read_text()), "path": path.parent} for path in paths]

    def steps(self) -> list[int]:
        return [one["steps_completed"] for one in self.checkpoints()]

    def latest(self) -> str | None:
        saved = self.checkpoints()
        return saved[-1]["path"].name if saved else None

    def context(self) -> core.Context:
        context = core.make_dummy_context(None, str(self.place / "storage"))
        context.train = self.reports = Reports()
        context.preempt = self.preempt = Preempts(context.distributed)
        if self.is_managed:
            config = {"searcher": self.searcher}
            context.info = types.SimpleNamespace(  # type: ignore[assignment]
                task_type="TRIAL",
                latest_checkpoint=self.latest(),
                trial=types.SimpleNamespace(
                    trial_id=self.trial_id, experiment_id=2, _config=config
                ),
            )
        return context
