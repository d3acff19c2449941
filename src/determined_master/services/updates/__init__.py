"""Streams of changed entities."""
