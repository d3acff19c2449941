"""Writers of metrics for TensorBoard, under the name by which scripts import them."""

from determined.tensorboard._writer import BatchMetricWriter, MetricWriter

__all__ = ["BatchMetricWriter", "MetricWriter"]
