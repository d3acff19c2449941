"""The options of a provider that say where its machines may be had, and on which market."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from typing import Any, ClassVar, NamedTuple, get_args

from determined_master.domain.config.schema.problems import ProblemReport
from determined_master.domain.config.schema.values import ValueType
from determined_master.domain.machines.offers import SpotUse

MAX_OFFERS = 60
"""Types times places times markets: each may be one call of a launch."""
_WORDS: tuple[SpotUse, ...] = get_args(SpotUse)
_NAME = re.compile(r"[A-Za-z0-9._-]{1,100}")


class SpotWord(ValueType):
    """`spot`: never, prefer or only; a boolean means only or never."""

    noun: ClassVar[str] = "string"

    def read(self, value: Any, at: str, report: ProblemReport) -> SpotUse | None:
        if isinstance(value, bool):
            return "only" if value else "never"
        if value in _WORDS:
            word: SpotUse = value
            return word
        words = ", ".join(_WORDS)
        report.problem(at, f"must be one of {words}, true or false but found {value!r}")
        return None


class KindOfType(NamedTuple):
    """A machine type of the settings, as far as it must agree with the others."""

    name: str
    slots: int
    device: str
    """cuda, cpu or none."""
    architecture: str
    """x86_64 or arm64."""


def check_kinds(kinds: Sequence[KindOfType], at: str, report: ProblemReport) -> None:
    """Report types that differ in their slots, or that no common image boots on.

    The scheduler counts machines of one size.

    Args:
        kinds: at least one.
        at: the path of the list.
        report: takes the problems.
    """
    first = kinds[0]
    for kind in kinds[1:]:
        if kind.slots != first.slots:
            text = (
                f"must have one number of slots, but {first.name} has {first.slots} and "
                f"{kind.name} has {kind.slots}: put them into two pools"
            )
        elif kind.device != first.device:
            text = (
                f"must have one kind of slots, but {first.name} has {first.device} and "
                f"{kind.name} has {kind.device}: put them into two pools"
            )
        elif kind.architecture != first.architecture:
            text = (
                f"must have one kind of processors, since one image boots on all, but "
                f"{first.name} has {first.architecture} and {kind.name} has {kind.architecture}: "
                "put them into two pools"
            )
        else:
            continue
        report.problem(at, text)
        return


def check_names(names: Sequence[str], at: str, report: ProblemReport) -> None:
    """Report names of types, zones or subnets that are empty, malformed or given twice."""
    for index, name in enumerate(names):
        if not _NAME.fullmatch(name):
            text = f'"{name}" is no name: use letters, digits, dots, dashes and underscores'
            report.problem(f"{at}[{index}]", text)
        elif name in names[:index]:
            report.problem(f"{at}[{index}]", f'"{name}" is listed twice: remove one')


def check_number(kinds: int, places: int, spot: SpotUse, at: str, report: ProblemReport) -> None:
    """Report more offers than a launch can try.

    Args:
        kinds: number of machine types.
        places: number of zones or subnets.
        spot: markets.
        at: the path of the types.
        report: takes the problem.
    """
    markets = 2 if spot == "prefer" else 1
    offers = kinds * max(1, places) * markets
    if offers > MAX_OFFERS:
        text = (
            f"has {kinds} types in {max(1, places)} places on {markets} markets, which are "
            f"{offers} offers: at most {MAX_OFFERS} can be tried; name fewer"
        )
        report.problem(at, text)


def check_priced(
    prices: Iterable[str], types: Sequence[str], at: str, report: ProblemReport
) -> None:
    """Report prices of machine types that the pool does not have.

    Args:
        prices: the types that have one.
        types: of the pool.
        at: the path of the prices.
        report: takes the problems.
    """
    for name in prices:
        if name not in types:
            text = f"is no machine type of this pool, which has {', '.join(types)}: remove it"
            report.problem(f"{at}.{name}", text)
