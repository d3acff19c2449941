"""The experiment's configuration, as a mapping with a few readers."""

from __future__ import annotations

from typing import Any, Dict, List, Optional, Tuple, Union


class ExperimentConfig(Dict[str, Any]):
    """The merged configuration of an experiment; every reader has the platform's default."""

    def debug_enabled(self) -> bool:
        """Whether the harness logs in detail."""
        return bool(self.get("debug", False))

    def scheduling_unit(self) -> int:
        """Batches between two looks at searcher and preemption in trial classes."""
        return int(self.get("scheduling_unit", 100))

    def native_parallel_enabled(self) -> bool:
        """`resources.native_parallel`, kept for old configurations."""
        return bool(self._part("resources").get("native_parallel", False))

    def average_training_metrics_enabled(self) -> bool:
        """Whether training metrics are averaged over the ranks."""
        return bool(self.get_optimizations_config().get("average_training_metrics", False))

    def slots_per_trial(self) -> int:
        """Slots of each trial, at least 0."""
        return int(self._part("resources").get("slots_per_trial", 1))

    def experiment_seed(self) -> int:
        """The seed that all trials' seeds come from."""
        return int(self._part("reproducibility").get("experiment_seed", 0))

    def profiling_enabled(self) -> bool:
        """Whether trial classes switch the profiler on by themselves."""
        return bool(self._part("profiling").get("enabled", False))

    def profiling_interval(self) -> Tuple[int, Optional[int]]:
        """First and last batch to profile; the last may be None."""
        part = self._part("profiling")
        return int(part.get("begin_on_batch", 0)), part.get("end_after_batch")

    def profiling_sync_timings(self) -> bool:
        """Whether timings wait for the accelerator."""
        return bool(self._part("profiling").get("sync_timings", True))

    def get_records_per_epoch(self) -> Optional[int]:
        """Records of an epoch, None when not stated."""
        return self.get("records_per_epoch")

    def get_min_validation_period(self) -> Dict[str, Any]:
        """A length: one key of batches, records, epochs."""
        return dict(self.get("min_validation_period") or {})

    def get_searcher_metric(self) -> str:
        """The metric that the search minimises or maximises.

        Raises:
            ValueError: the configuration names none, or not as text.
        """
        metric = self._part("searcher").get("metric")
        if not isinstance(metric, str):
            raise ValueError(f"searcher.metric must be text, got {metric!r}")
        return metric

    def get_min_checkpoint_period(self) -> Dict[str, Any]:
        """A length, as `get_min_validation_period`."""
        return dict(self.get("min_checkpoint_period") or {})

    def get_optimizations_config(self) -> Dict[str, Any]:
        """The part `optimizations`."""
        return self._part("optimizations")

    def get_checkpoint_storage(self) -> Dict[str, Any]:
        """The part `checkpoint_storage`."""
        return self._part("checkpoint_storage")

    def get_entrypoint(self) -> Union[str, List[str]]:
        """What a trial runs: text for a shell, or a list of arguments.

        Raises:
            ValueError: there is none, or it is neither.
        """
        entrypoint = self.get("entrypoint")
        if not isinstance(entrypoint, (str, list)) or not entrypoint:
            raise ValueError(f"entrypoint must be text or a list of texts, got {entrypoint!r}")
        return entrypoint

    def _part(self, name: str) -> Dict[str, Any]:
        return dict(self.get(name) or {})
