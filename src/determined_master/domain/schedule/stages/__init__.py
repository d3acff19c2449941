"""The stages of the scheduler, each from planning to planning; `planner` joins them."""
