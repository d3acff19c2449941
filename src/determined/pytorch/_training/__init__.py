"""The training loop of a PyTorch trial and its parts."""
