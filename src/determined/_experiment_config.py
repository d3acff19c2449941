"""The experiment's configuration: a mapping with typed getters."""

from __future__ import annotations

from typing import Any, Dict, List, Optional, Tuple, Union


class ExperimentConfig(Dict[str, Any]):
    """The merged configuration of an experiment. Every getter applies the platform's default."""

    def debug_enabled(self) -> bool:
        """Whether the harness logs at level DEBUG."""
        return bool(self.get("debug", False))

    def scheduling_unit(self) -> int:
        """Batches between two reports of training metrics in trial classes."""
        return int(self.get("scheduling_unit", 100))

    def native_parallel_enabled(self) -> bool:
        """`resources.native_parallel`; only old configurations set it."""
        return bool(self._part("resources").get("native_parallel", False))

    def average_training_metrics_enabled(self) -> bool:
        """Whether training metrics are averaged over the ranks."""
        return bool(self.get_optimizations_config().get("average_training_metrics", False))

    def slots_per_trial(self) -> int:
        """Slots of each trial, at least 0."""
        return int(self._part("resources").get("slots_per_trial", 1))

    def experiment_seed(self) -> int:
        """The seed from which the seeds of all trials are derived."""
        return int(self._part("reproducibility").get("experiment_seed", 0))

    def profiling_enabled(self) -> bool:
        """Whether trial classes turn the profiler on."""
        return bool(self._part("profiling").get("enabled", False))

    def profiling_interval(self) -> Tuple[int, Optional[int]]:
        """First and last batch to profile; the last may be None."""
        part = self._part("profiling")
        return int(part.get("begin_on_batch", 0)), part.get("end_after_batch")

    def profiling_sync_timings(self) -> bool:
        """Whether timings wait for the accelerator."""
        return bool(self._part("profiling").get("sync_timings", True))

    def get_records_per_epoch(self) -> Optional[int]:
        """Records of an epoch; None if not set."""
        return self.get("records_per_epoch")

    def get_min_validation_period(self) -> Dict[str, Any]:
        """A length: a mapping with one key, batches, records or epochs."""
        return dict(self.get("min_validation_period") or {})

    def get_searcher_metric(self) -> str:
        """The metric that the search minimizes or maximizes.

        Raises:
            ValueError: it is not set, or is not a string.
        """
        metric = self._part("searcher").get("metric")
        if not isinstance(metric, str):
            raise ValueError(f"searcher.metric must be text, got {metric!r}")
        return metric

    def get_min_checkpoint_period(self) -> Dict[str, Any]:
        """A length, as `get_min_validation_period`."""
        return dict(self.get("min_checkpoint_period") or {})

    def get_optimizations_config(self) -> Dict[str, Any]:
        """The section `optimizations`."""
        return self._part("optimizations")

    def get_checkpoint_storage(self) -> Dict[str, Any]:
        """The section `checkpoint_storage`."""
        return self._part("checkpoint_storage")

    def get_entrypoint(self) -> Union[str, List[str]]:
        """The command of a trial: a string for a shell, or a list of arguments.

        Raises:
            ValueError: it is not set, or has another type.
        """
        entrypoint = self.get("entrypoint")
        if not isinstance(entrypoint, (str, list)) or not entrypoint:
            raise ValueError(f"entrypoint must be text or a list of texts, got {entrypoint!r}")
        return entrypoint

    def _part(self, name: str) -> Dict[str, Any]:
        return dict(self.get(name) or {})
