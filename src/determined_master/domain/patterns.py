"""Patterns in RE2's syntax, and sets of them that are looked for in lines together."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import re2

_OF_THE_TEXT = ("\\A", "\\z", "-m", "-sm")
"""Anchors that tie a pattern to the ends of the text."""


def find_fault(pattern: str) -> str | None:
    """Why a pattern does not compile; None when it does."""
    options = re2.Options()
    options.log_errors = False
    try:
        re2.compile(pattern, options)
    except re2.error as e:
        reason = e.args[0] if e.args else ""
        text = reason.decode(errors="replace") if isinstance(reason, bytes) else str(reason)
        return f'"{pattern}" is not a regular expression of RE2: {text}'
    return None


class PatternSet:
    """Patterns that each match anywhere in a line."""

    def __init__(self, patterns: Sequence[str]) -> None:
        """All of them compile."""
        self._matcher, sieve = re2.Set.SearchSet(), re2.Set.SearchSet()
        for pattern in patterns:
            self._matcher.Add(pattern)
            sieve.Add(f"(?m){pattern}")  # `^` and `$` match at each line
        self._all = range(len(patterns))
        self._sieve: Any = None
        self._matcher.Compile()
        if not any(mark in pattern for pattern in patterns for mark in _OF_THE_TEXT):
            sieve.Compile()
            self._sieve = sieve

    def match(self, line: str) -> Sequence[int]:
        """The patterns that match a line, by index."""
        return self._matcher.Match(line) or ()

    def may_match(self, lines: Sequence[str]) -> Sequence[int]:
        """The patterns that some of many lines may match, by index: a fast test."""
        if self._sieve is None:
            return self._all
        return self._sieve.Match("\n".join(lines)) or ()
