"""The reports of a script without a master."""

from __future__ import annotations

from typing import Any

from determined import core


class LocalTrial(core.DummyTrainContext):
    """Keeps reports; refuses a second value of a name at a step, as a master does."""

    def __init__(self) -> None:
        super().__init__()
        self.reports: dict[tuple[str, int], dict[str, Any]] = {}
        self.metadata: dict[str, Any] = {}

    @property
    def params(self) -> dict[str, dict[str, Any]]:
        """By the name of a run."""
        params: dict[str, dict[str, Any]] = self.metadata.get("autolog", {})
        return params

    def steps(self, group: str, name: str) -> list[int]:
        """The steps at which a metric was reported."""
        return [
            step for (of, step), values in self.reports.items() if of == group and name in values
        ]

    def set_metadata(self, metadata: dict[str, Any]) -> dict[str, Any]:
        self.metadata = dict(metadata)
        return metadata

    def _report(self, group: str, steps_completed: int, metrics: Any, batch: Any = None) -> None:
        values = self.reports.setdefault((group, steps_completed), {})
        assert not values.keys() & metrics.keys()
        assert all(isinstance(value, (int, float)) for value in metrics.values())
        values.update(metrics)
