"""A service beside agent or master that sends the machine's journal and load to its cloud."""
