"""The pods of tasks: their states, and the steps that follow from them."""
