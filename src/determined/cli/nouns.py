"""The nouns of `det`: names, help, and the module that states their commands."""

from __future__ import annotations

import importlib
from typing import Optional, Sequence, Tuple

from determined.cli import declare

_TABLE: Tuple[Tuple[str, str, str], ...] = (
    ("agent|a", "manage agents", "determined.cli.agent.commands"),
    ("checkpoint|c", "manage checkpoints", "determined.cli.checkpoint.commands"),
    ("command|cmd", "manage commands", "determined.cli.interactive.command"),
    ("config-policies|cp", "manage config policies", "determined.cli.config.config_policies"),
    ("context|ctx", "manage contexts: named masters", "determined.cli.config.context"),
    ("deploy|d", "manage deployments", "determined.cli.deploy.commands"),
    ("dev", "call the REST API", "determined.cli.dev.commands"),
    ("experiment|e", "manage experiments", "determined.cli.experiment.commands"),
    ("job|j", "manage job", "determined.cli.job"),
    ("master", "manage master", "determined.cli.master"),
    ("model|m", "manage models", "determined.cli.model"),
    ("notebook", "manage notebooks", "determined.cli.interactive.notebook"),
    ("preview-search", "preview search", "determined.cli.experiment.preview_search"),
    ("project|p", "manage projects", "determined.cli.workspace.project"),
    ("rbac", "manage roles and their permissions", "determined.cli.user.rbac"),
    ("resource-pool|rp", "manage resource pools", "determined.cli.agent.resource_pool"),
    ("resources|res", "query historical resource allocation", "determined.cli.agent.resources"),
    ("shell", "manage shells", "determined.cli.interactive.shell"),
    ("slot|s", "manage slots", "determined.cli.agent.slot"),
    ("task", "manage tasks", "determined.cli.task.commands"),
    ("template|tpl", "manage config templates", "determined.cli.config.template"),
    ("tensorboard", "manage TensorBoards", "determined.cli.interactive.tensorboard"),
    ("token|tkn", "manage access tokens", "determined.cli.user.token"),
    ("trial|t", "manage trials", "determined.cli.trial.commands"),
    ("user|u", "manage users", "determined.cli.user.commands"),
    ("user-group", "manage user groups", "determined.cli.user.user_group"),
    ("version", "show version information", "determined.cli.version"),
    ("webhook|wh", "manage webhooks", "determined.cli.workspace.webhook"),
    ("workspace|w", "manage workspaces", "determined.cli.workspace.commands"),
)

HEADS = tuple(declare.Command(names, help_text) for names, help_text, _ in _TABLE)


def load(word: str) -> Optional[declare.Command]:
    """The noun of that name or alias, with its commands; None for an unknown word."""
    for names, _, module in _TABLE:
        if word in names.split("|"):
            command: declare.Command = importlib.import_module(module).NOUN
            return command
    return None


def load_all() -> Sequence[declare.Command]:
    """Every noun with its commands."""
    loaded = (load(head.name) for head in HEADS)
    return [noun for noun in loaded if noun is not None]
