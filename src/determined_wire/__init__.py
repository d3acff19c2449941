"""Shared by master and agent: REST messages, the agent link, and the settings reader."""
