"""A whole cluster in one event loop, in simulated time, under seeded faults.

Real are the engine, its leadership, outbox, timers and inbox; the effects' handlers; the pools'
loops, the planner and all machines; the link with agents at both ends, and the agents'
supervisors. Simulated are time, the database (`tables`, `connection`), the network, the machines'
runtimes, and what users and their training code do.
"""
