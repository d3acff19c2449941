"""Shapes that more than one group of routes uses, one generated module a package."""
