"""The pods of tasks: their states, and what is done about them."""
