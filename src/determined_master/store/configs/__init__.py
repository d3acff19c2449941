"""Rows of config policies and templates."""
