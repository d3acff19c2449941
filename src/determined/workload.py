"""Workloads of the harness of 0.38.1, which has no counterpart: names that raise when used."""

from __future__ import annotations

from typing import Any, Dict

from determined._internals import Internal
from determined.errors import InvalidHP as InvalidHP

_REMEDY = "a loop of your own takes its length and pauses from determined.core (docs/core-api.md)"

Metrics = Dict[str, Any]

Response = Internal("determined.workload.Response", _REMEDY)
ResponseFunc = Internal("determined.workload.ResponseFunc", _REMEDY)
Source = Internal("determined.workload.Source", _REMEDY)
Stream = Internal("determined.workload.Stream", _REMEDY)
Workload = Internal("determined.workload.Workload", _REMEDY)
WorkloadResponseInterceptor = Internal("determined.workload.WorkloadResponseInterceptor", _REMEDY)
checkpoint_workload = Internal("determined.workload.checkpoint_workload", _REMEDY)
ignore_workload_response = Internal("determined.workload.ignore_workload_response", _REMEDY)
train_workload = Internal("determined.workload.train_workload", _REMEDY)
validation_workload = Internal("determined.workload.validation_workload", _REMEDY)
