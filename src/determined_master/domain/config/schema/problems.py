"""Problems of a configuration: one error lists all of them with their paths."""

from __future__ import annotations

from typing import NamedTuple

from determined_master.domain.errors import InvalidArgument

MAX_SHOWN = 200
MAX_KEPT = 1000
"""With more mistakes the text is probably not a configuration."""
HINTED = 20
"""How many of the first mistakes get a hint, since the search for one is slow."""
ROOT = "<config>"


class Problem(NamedTuple):
    """One problem; `path` starts at the configuration's root."""

    path: str
    text: str
    is_gap: bool = False
    """Whether something is missing, instead of wrong."""
    bare: str = ""
    """The whole message when this is the only problem; empty for the usual form."""


class ProblemReport:
    """Collects problems and warnings while a configuration is read."""

    def __init__(self) -> None:
        self._problems: dict[tuple[str, str], Problem] = {}
        self._warnings: dict[str, None] = {}

    @property
    def problems(self) -> tuple[Problem, ...]:
        """All problems, each once, sorted by path."""
        return tuple(sorted(self._problems.values()))

    @property
    def warnings(self) -> tuple[str, ...]:
        """All warnings, each once, in the order of their discovery."""
        return tuple(self._warnings)

    @property
    def wants_hints(self) -> bool:
        """Whether so few problems are found that a hint is worth its cost."""
        return len(self._problems) < HINTED

    def problem(self, path: str, text: str, *, is_gap: bool = False, bare: str = "") -> None:
        """Report a problem that makes the configuration unusable."""
        if len(self._problems) < MAX_KEPT:
            self._problems.setdefault((path, text), Problem(path, text, is_gap, bare))

    def warn(self, path: str, text: str) -> None:
        """Report a problem that does not make the configuration unusable."""
        self._warnings.setdefault(f"{path}: {text}")

    def has_problem_at(self, path: str) -> bool:
        """Whether something is wrong at this path or below it."""
        return any(
            at == path or (at.startswith(path) and at[len(path)] in ".[")
            for at, _ in self._problems
        )


class ConfigErrors(InvalidArgument):
    """A configuration that cannot be used; the text lists every problem with its path."""

    def __init__(self, problems: tuple[Problem, ...]) -> None:
        super().__init__(_message(problems))
        self.problems = problems


def _message(problems: tuple[Problem, ...]) -> str:
    if len(problems) == 1 and problems[0].bare:
        return problems[0].bare
    lines = [f"{p.path}: {p.text}" for p in problems[:MAX_SHOWN]]
    if len(problems) > MAX_SHOWN:
        rest = f"and {len(problems) - MAX_SHOWN} more"
        lines.append(rest if len(problems) < MAX_KEPT else f"{rest}, or still more than that")
    if all(p.is_gap for p in problems):
        head = "config is invalid or incomplete: "
    else:
        head = "version 0 experiment config is invalid: config is invalid: "
    return "invalid experiment configuration: " + head + "\n".join(lines)
