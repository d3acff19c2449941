"""Simulation of queues: workloads, planner runs on agents that are numbers, and their outcomes."""
