"""Machines and agents: what is disabled, how many machines a pool needs."""
