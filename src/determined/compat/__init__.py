"""Trackers of other products, by the names of their functions: `wandb` and `mlflow`.

A script that calls them reports to a trial when it changes one import:

    from determined.compat import wandb
    from determined.compat import mlflow
"""
