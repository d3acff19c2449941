"""How a cluster that can grow learns that tasks wait for nodes."""
