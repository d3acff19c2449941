"""Decides which waiting request gets which slots."""
