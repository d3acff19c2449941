"""What tasks of every kind share: container specification, ports, SSH files."""
