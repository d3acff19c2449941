"""Ignore patterns in the format of `.gitignore`."""

from __future__ import annotations

import re
from typing import Iterable, List, NamedTuple, Pattern


class _Rule(NamedTuple):
    pattern: Pattern[str]
    is_negated: bool
    only_directories: bool


class Ignore:
    """The rules of an ignore file; the last matching rule decides.

    As in git, a file in an ignored directory cannot be re-included: callers do not enter ignored
    directories.
    """

    def __init__(self, lines: Iterable[str]) -> None:
        rules = (_rule(line) for line in lines)
        self._rules: List[_Rule] = [rule for rule in rules if rule is not None]

    def covers(self, path: str, is_directory: bool) -> bool:
        """Whether to ignore a relative path, whose parts are separated by `/`."""
        covered = False
        for rule in self._rules:
            if (is_directory or not rule.only_directories) and rule.pattern.match(path):
                covered = not rule.is_negated
        return covered


def _rule(line: str) -> _Rule | None:
    text = re.sub(r"(?<!\\)\s+$", "", line.rstrip("\r\n"))
    if not text or text.startswith("#"):
        return None
    is_negated = text.startswith("!")
    text = text[1:] if is_negated else text
    only_directories = text.endswith("/")
    text = text.rstrip("/") if only_directories else text
    is_anchored = "/" in text
    text = text.lstrip("/")
    if not text:
        return None
    prefix = "" if is_anchored else "(?:.*/)?"
    try:
        pattern = re.compile(prefix + _regex(text) + r"\Z", re.S)
    except re.error:
        return None  # such as `[z-a]`, which matches nothing
    return _Rule(pattern, is_negated, only_directories)


def _regex(glob: str) -> str:
    """The regular expression of a pattern: `*` matches within a part, `**` across parts."""
    out, at = "", 0
    while at < len(glob):
        if glob.startswith("**/", at) and (at == 0 or glob[at - 1] == "/"):
            out, at = out + "(?:.*/)?", at + 3
        elif glob[at:] == "**" and (at == 0 or glob[at - 1] == "/"):
            out, at = out + ".+", at + 2
        elif glob[at] == "*":
            out, at = out + "[^/]*", at + 1
        elif glob[at] == "?":
            out, at = out + "[^/]", at + 1
        elif glob[at] == "[" and "]" in glob[at + 2 :]:
            end = glob.index("]", at + 2)
            body = glob[at + 1 : end]
            negation, body = ("^", body[1:]) if body[0] in "!^" else ("", body)
            body = negation + re.sub(r"([^\w-])", r"\\\1", body)
            out, at = f"{out}[{body}]", end + 1
        else:
            at += 1 if glob[at] == "\\" and at + 1 < len(glob) else 0
            out, at = out + re.escape(glob[at]), at + 1
    return out
