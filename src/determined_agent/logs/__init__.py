"""Reading the output of tasks and sending it to the master."""
