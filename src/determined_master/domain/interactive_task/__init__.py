"""Commands, notebooks, shells and TensorBoards: one run each, from launch to end."""
