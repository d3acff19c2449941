"""Training with Lightning: `determined.lightning.experimental`."""
