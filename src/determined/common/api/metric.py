"""A metric of a validation, as the API reports validations."""

from __future__ import annotations

from typing import Any, Mapping, Optional


def get_validation_metric(metric_name: str, validation: Optional[Mapping[str, Any]]) -> Any:
    """Its value; None without a validation or without that metric."""
    metrics = (validation or {}).get("metrics") or {}
    return (metrics.get("validation_metrics") or {}).get(metric_name)
