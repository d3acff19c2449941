"""Training with Lightning: `DetCallback`, and `determined.lightning.experimental.DetLogger`."""

from determined.lightning._callback import DetCallback as DetCallback
