"""Starts the processes of a distributed trial, one a slot."""
