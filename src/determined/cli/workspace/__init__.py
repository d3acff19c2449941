"""`det workspace` and `det project`."""
