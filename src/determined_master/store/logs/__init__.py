"""Rows of task logs."""
