"""Subscriptions to changes of projects, models and model versions."""
