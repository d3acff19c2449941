"""Parts of the tasks that run a server: notebooks, shells and TensorBoards."""
