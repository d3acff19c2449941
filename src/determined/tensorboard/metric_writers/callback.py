"""The writers of metrics, under their public names."""

from determined.tensorboard._writer import BatchMetricWriter, MetricWriter

__all__ = ["BatchMetricWriter", "MetricWriter"]
