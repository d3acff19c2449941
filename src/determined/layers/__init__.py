"""The sequencer of workloads of 0.38.1, which has no counterpart: names that raise when used."""

from determined._internals import Internal

_REMEDY = "use determined.core, or determined.pytorch.Trainer (docs/core-api.md)"

WorkloadSequencer = Internal("determined.layers.WorkloadSequencer", _REMEDY)
make_compatibility_workloads = Internal("determined.layers.make_compatibility_workloads", _REMEDY)

__all__ = ["WorkloadSequencer", "make_compatibility_workloads"]
