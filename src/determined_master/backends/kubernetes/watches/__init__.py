"""Follows objects of a cluster, and knows which of them are known."""
