"""Training with the Trainer of Hugging Face transformers."""

from determined.transformers._callback import DetCallback

__all__ = ["DetCallback"]
