"""Generated messages that more than one group of routes uses."""
