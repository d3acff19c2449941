"""What is done, outside any transaction, when a machine orders an effect."""
