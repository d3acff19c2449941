"""The nouns of `det`: names, help, and the module that states their commands."""

from __future__ import annotations

import contextlib
import importlib
from typing import Optional, Sequence, Tuple

from determined.cli import declare, errors

_TABLE: Tuple[Tuple[str, str, str], ...] = (
    ("agent|a", "manage agents", "determined.cli.agent.commands"),
    ("checkpoint|c", "manage checkpoints", "determined.cli.checkpoint.commands"),
    ("command|cmd", "manage commands", "determined.cli.interactive.command"),
    ("config-policies|cp", "manage config policies", "determined.cli.config.config_policies"),
    ("context|ctx", "manage contexts: named masters", "determined.cli.config.context"),
    ("deploy|d", "manage deployments", "determined_deploy.commands"),
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


class NotInstalledError(errors.CliError):
    """The package of a noun is not part of this installation."""


def load(word: str) -> Optional[declare.Command]:
    """The noun of that name or alias, with its commands; None for an unknown word.

    Raises:
        NotInstalledError: the noun belongs to a package that is not installed.
    """
    for names, _, module in _TABLE:
        if word in names.split("|"):
            return _loaded(names.partition("|")[0], module)
    return None


def _loaded(name: str, module: str) -> declare.Command:
    package = module.partition(".")[0]
    try:
        command: declare.Command = importlib.import_module(module).NOUN
    except ModuleNotFoundError as error:
        if error.name != package:
            raise
        raise NotInstalledError(
            f"det {name} needs the package {package}, and this installation (the one inside "
            "tasks, for example) leaves it out: run it where determined-platform is installed"
        ) from None
    return command


def load_all() -> Sequence[declare.Command]:
    """Every installed noun with its commands."""
    loaded = []
    for names, _, module in _TABLE:
        with contextlib.suppress(NotInstalledError):
            loaded.append(_loaded(names.partition("|")[0], module))
    return loaded
