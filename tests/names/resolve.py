"""Compares lines of `tests/data/published_names.txt` with what this package exports."""

from __future__ import annotations

import contextlib
import importlib
import inspect
import re
from typing import Any

from determined._internals import Internal


def problem(line: str) -> str:
    """Why the name of a line is not ours as it stands there; empty when it is."""
    module_name = line.partition(" ")[0]
    try:
        module = importlib.import_module(module_name)
        return _problem_in(module, line.partition(" ")[2])
    except ImportError as error:
        if FRAMEWORK in str(error):
            return ""
        return f"cannot be imported: {error}"


def _problem_in(module: Any, rest: str) -> str:
    name, bracket, parameters = rest.partition("(")
    value: Any = module
    for part in filter(None, name.split(".")):
        if part == "__init__" and inspect.isclass(value):
            break
        if isinstance(value, Internal):
            return ""  # any use of it raises, and says what to use
        holder, value = value, _attribute(value, part)
        if value is MISSING:
            is_field = part in getattr(holder, "__annotations__", ())
            return "" if is_field and not bracket else "is missing"
    if isinstance(value, Internal):
        return ""
    return _difference(value, parameters[:-1]) if bracket else ""


MISSING = object()
FRAMEWORK = "which this Python does not have: install"
"""Names need their framework; the error of the import names it."""


def _attribute(holder: Any, name: str) -> Any:
    if inspect.ismodule(holder) and hasattr(holder, "__path__"):
        with contextlib.suppress(ModuleNotFoundError):
            importlib.import_module(f"{holder.__name__}.{name}")
    return getattr(holder, name, MISSING)


def _difference(value: Any, text: str) -> str:
    """A call that the signature of 0.38.1 allows must be allowed here, with the same defaults."""
    try:
        parameters = list(inspect.signature(value).parameters.values())
    except (TypeError, ValueError):
        return "cannot be called"
    if parameters and parameters[0].name in ("self", "cls"):
        parameters = parameters[1:]
    takes_keywords = any(p.kind is p.VAR_KEYWORD for p in parameters)
    takes_more = any(p.kind is p.VAR_POSITIONAL for p in parameters)
    ours = {p.name: p for p in parameters}
    places = [p.name for p in parameters if p.kind in (p.POSITIONAL_ONLY, p.POSITIONAL_OR_KEYWORD)]
    words = _split(text)
    if words and words[0] in ("self", "cls"):
        words = words[1:]
    place, theirs = 0, set()
    for word in words:
        name, _, default = word.partition("=")
        if name.startswith("*"):
            place = 10**6
            continue
        theirs.add(name)
        match = ours.get(name)
        if match is None:
            if takes_keywords or (takes_more and place < 10**6):
                continue
            return f"has no parameter {name}"
        is_placed = place < 10**6
        if is_placed and not takes_more and (place >= len(places) or places[place] != name):
            return f"has {name} at another place"
        place += 1
        if default and match.default is match.empty:
            return f"needs {name}"
        if default and default != "..." and repr(match.default) != default:
            return f"has the default {match.default!r} of {name}, not {default}"
    needed = [
        p.name
        for p in parameters
        if p.default is p.empty
        and p.kind not in (p.VAR_KEYWORD, p.VAR_POSITIONAL)
        and p.name not in theirs
    ]
    return f"needs {', '.join(needed)}" if needed else ""


def _split(text: str) -> list[str]:
    """`a, b=(1, 2)` -> `a`, `b=(1, 2)`."""
    words, depth = [""], 0
    for piece in re.split(r"(, |[\[({]|[\])}])", text):
        depth += (piece in ("[", "(", "{")) - (piece in ("]", ")", "}"))
        if piece == ", " and depth == 0:
            words.append("")
        else:
            words[-1] += piece
    return [word for word in words if word]
