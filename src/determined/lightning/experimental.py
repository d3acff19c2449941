"""The logger that reports the metrics of a Lightning trainer."""

from determined.lightning._logger import DetLogger

__all__ = ["DetLogger"]
