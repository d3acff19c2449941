"""The configuration of DeepSpeed."""

from __future__ import annotations

import json
from typing import Any, Dict, Union

from determined import util


def overwrite_deepspeed_config(
    base_ds_config: Union[str, Dict[str, Any]], source_ds_dict: Dict[str, Any]
) -> Dict[str, Any]:
    """A DeepSpeed configuration with values of another merged into it, section by section.

    Args:
        base_ds_config: a dict, or the path of a JSON file.
        source_ds_dict: the values that take precedence.

    Raises:
        ValueError: the file is no JSON.
        TypeError: the configuration, or what is merged, is no dict.
    """
    config: Any = base_ds_config
    name = "base_ds_config"
    if isinstance(config, str):
        name = config
        with open(config, encoding="utf-8") as file:
            try:
                config = json.load(file)
            except ValueError as error:
                raise ValueError(f"{name} is no JSON: {error}") from error
    for what, value in ((name, config), ("source_ds_dict", source_ds_dict)):
        if not isinstance(value, dict):
            raise TypeError(f"{what} must be a dict, got {type(value).__name__}")
    return util.merge_dicts(config, source_ds_dict)
