"""Lengths of training in batches, records or epochs, as older configurations give them."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from determined_master.domain.config.schema.problems import ProblemReport
from determined_master.domain.config.schema.values import Integer, ValueType

UNITS = ("batches", "records", "epochs")


@dataclass(frozen=True)
class Length(ValueType):
    """An object with a unit as its only key; where allowed, a number alone."""

    allows_bare_number: bool = False
    at_least: int = 0

    def read(self, value: Any, at: str, report: ProblemReport) -> Any:
        if self.allows_bare_number and isinstance(value, (int, float)):
            return Integer(at_least=0).read(value, at, report)
        if not isinstance(value, Mapping) or len(value) != 1 or next(iter(value)) not in UNITS:
            report.problem(
                at,
                "a length object must have one attribute of batches, records or epochs, "
                "as in `{batches: 100}`",
            )
            return None
        unit, number = next(iter(value.items()))
        found = Integer(at_least=self.at_least).read(number, f"{at}.{unit}", report)
        return None if found is None else {unit: found}

    def json_schema(self) -> dict[str, Any]:
        objects: list[dict[str, Any]] = [
            {
                "type": "object",
                "properties": {unit: {"type": "integer", "minimum": self.at_least}},
                "required": [unit],
                "additionalProperties": False,
            }
            for unit in UNITS
        ]
        bare = [{"type": "integer", "minimum": 0}] if self.allows_bare_number else []
        return {"anyOf": [*objects, *bare]}
