"""`det dev bindings`: calls the functions of `determined.common.api.bindings`."""

from __future__ import annotations

import argparse
import inspect
import json
import re
from enum import Enum
from typing import Any, Dict, Iterator, List, Mapping

from determined.cli import connect, errors
from determined.cli.output import show
from determined.common.api import bindings

_CALL = re.compile(r"(get|post|put|patch|delete)_\w+\Z")
_PLAIN = {"str": str, "int": int, "float": float}
Parameters = Mapping[str, inspect.Parameter]


def list_calls(args: argparse.Namespace) -> None:
    """Print every function with its parameters, required ones first."""
    for name in _names():
        listed = ", ".join(str(p) for p in _parameters(name).values())
        print(f"{name} <= {listed}" if listed else name)


def call(args: argparse.Namespace) -> None:
    """Call one function and print its result.

    Raises:
        CliError: the function does not exist, or the arguments do not fit.
    """
    name = _matching_name(args.name, args.auto_confirm)
    values = _values(name, args.args)
    answer = getattr(bindings, name)(connect.session(args), **values)
    for message in answer if isinstance(answer, Iterator) else [answer]:
        show.as_json(message.to_json() if message else {})


def _names() -> List[str]:
    return sorted(filter(_CALL.match, dir(bindings)))


def _matching_name(word: str, accepts_match: bool) -> str:
    names = _names()
    if word in names:
        return word
    near = [name for name in names if word.lower() in name.lower()]
    if len(near) == 1 and accepts_match:
        return near[0]
    if not near:
        raise errors.CliError(f"there is no function {word!r}: see det dev bindings list")
    raise errors.CliError(f"there is no function {word!r}; name one of: {', '.join(near)}")


def _parameters(name: str) -> Parameters:
    """All parameters but the session, required ones first."""
    parameters = inspect.signature(getattr(bindings, name)).parameters
    return {
        key: parameter.replace(kind=inspect.Parameter.POSITIONAL_OR_KEYWORD)
        for key, parameter in parameters.items()
        if key != "session"
    }


def _values(name: str, words: List[str]) -> Dict[str, Any]:
    parameters = _parameters(name)
    order = list(parameters)
    values: Dict[str, Any] = {}
    for position, word in enumerate(words):
        key, is_named, text = word.partition("=")
        key = key if key in parameters else _on_the_wire(key)
        if not is_named or key not in parameters:
            if position >= len(order):
                raise errors.CliError(
                    f"{name} takes {len(order)} arguments, not {len(words)}: "
                    "see det dev bindings list"
                )
            key, text = order[position], word
        values[key] = _value(parameters[key], text)
    missing = [k for k, p in parameters.items() if p.default is p.empty and k not in values]
    if missing:
        raise errors.CliError(f"{name} needs {', '.join(missing)}: see det dev bindings list")
    return values


def _value(parameter: inspect.Parameter, text: str) -> Any:
    kind = re.sub(r"typing.Optional\[(.*)\]", r"\1", str(parameter.annotation))
    try:
        if kind in _PLAIN:
            return _PLAIN[kind](text)
        if kind == "bool":
            return {"true": True, "false": False}[text.lower()]
        return text if _is_enum(kind) else json.loads(text)
    except (ValueError, KeyError):
        raise errors.CliError(
            f"{parameter.name} takes a value of type {kind} (JSON unless it is text, a number or "
            f"a boolean), not {text!r}"
        ) from None


def _is_enum(kind: str) -> bool:
    shape = getattr(bindings, kind, None)
    return isinstance(shape, type) and issubclass(shape, Enum)


def _on_the_wire(name: str) -> str:
    first, *rest = name.split("_")
    return first + "".join(word[:1].upper() + word[1:] for word in rest)
