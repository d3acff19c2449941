"""`det experiment create -t` and `--local`: tests a config and a model directory."""

from __future__ import annotations

import os
import subprocess
from typing import Any, List, Optional, Sequence

from determined.cli import errors
from determined.common import config_text

_PREFIX = "[test-mode]"
_SET = ("searcher.max_length", "min_checkpoint_period", "min_validation_period")
"""Keys that `small` sets for trial classes."""


def small(text: str) -> str:
    """The config of an experiment that trains one batch of one trial, without restarts."""
    config = config_text.load(text, "config")
    searcher = config.get("searcher")
    options = searcher if isinstance(searcher, dict) else {}
    remaining = {k: v for k, v in options.items() if k in ("metric", "smaller_is_better")}
    config["searcher"] = {**remaining, "name": "single", "max_length": {"batches": 1}}
    config["description"] = f"{_PREFIX} {config.get('description') or ''}".strip()
    config["max_restarts"] = 0
    for period in ("min_checkpoint_period", "min_validation_period"):
        config[period] = {"batches": 1}
    return config_text.dump(config)


def own_warnings(warnings: Sequence[str], text: str) -> List[str]:
    """The warnings without those about keys that `small` has set and the user has not.

    Args:
        warnings: of the master, each with the path of its key.
        text: the user's config.
    """
    config = config_text.load(text, "config")
    searcher = config.get("searcher")
    names = set(config)
    names |= {f"searcher.{key}" for key in searcher} if isinstance(searcher, dict) else set()
    added = tuple(f"<config>.{path}:" for path in _SET if path not in names)
    return [warning for warning in warnings if not warning.startswith(added)]


def run_here(text: str, model_def: Optional[str]) -> None:
    """Run the entrypoint of a config in a model directory on this machine, without a cluster.

    Raises:
        CliError: the config has no entrypoint, or its exit status is not 0.
    """
    entrypoint: Any = config_text.load(text, "config").get("entrypoint")
    if not entrypoint:
        raise errors.CliError("the config has no entrypoint: set it to the command to run")
    words = ["sh", "-c", entrypoint] if isinstance(entrypoint, str) else list(map(str, entrypoint))
    folder = model_def or os.curdir
    # DET_* variables of the shell would make the harness look for a cluster.
    env = {k: v for k, v in os.environ.items() if not k.startswith("DET_")}
    path = os.pathsep.join([os.path.abspath(folder), *filter(None, [env.get("PYTHONPATH")])])
    try:
        status = subprocess.call(words, cwd=folder, env={**env, "PYTHONPATH": path})
    except OSError as error:
        raise errors.CliError(f"'{words[0]}' in '{folder}': {error.strerror}") from None
    if status:
        raise errors.CliError(f"the entrypoint exited with status {status}")
