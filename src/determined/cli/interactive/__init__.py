"""`det command`, `notebook`, `shell` and `tensorboard`: interactive tasks."""
