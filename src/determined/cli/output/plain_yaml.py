"""Writes plain data as YAML 1.2. Importing a YAML library would take 80 ms."""

from __future__ import annotations

import json
import re
from typing import Any, List

_PLAIN = re.compile(r"[A-Za-z_./](?:[A-Za-z0-9_./@%+,=() -]|:(?=[^ ]))*\Z")
_DIGITS_FIRST = re.compile(r"(\d+\.\d+\.[\d.a-z]+|[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12})\Z")
_NOT_TEXT = re.compile(r"(?i)(null|true|false|yes|no|on|off|y|n|\.nan|[-+]?\.inf|~)\Z")


def dump(data: Any) -> str:
    """Data in block style with sorted keys; NaN and infinity become `.nan` and `.inf`."""
    return "\n".join(_lines(data))


def _lines(data: Any) -> List[str]:
    if isinstance(data, dict) and data:
        lines = []
        for key in sorted(data, key=str):
            lines += _entry(f"{_scalar(str(key))}:", data[key], indent_lists=False)
        return lines
    if isinstance(data, (list, tuple)) and data:
        return [line for item in data for line in _item(item)]
    return [_scalar(data)]


def _entry(head: str, value: Any, indent_lists: bool) -> List[str]:
    if not isinstance(value, (dict, list, tuple)) or not value:
        return [f"{head} {_scalar(value)}"]
    indent = "  " if isinstance(value, dict) or indent_lists else ""
    return [head, *(indent + line for line in _lines(value))]


def _item(value: Any) -> List[str]:
    first, *rest = _lines(value)
    return [f"- {first}", *(f"  {line}" for line in rest)]


def _scalar(value: Any) -> str:
    if isinstance(value, str):
        return _text(value)
    if isinstance(value, float) and (value != value or value in (float("inf"), float("-inf"))):
        return ".nan" if value != value else (".inf" if value > 0 else "-.inf")
    return json.dumps(value)


def _text(value: str) -> str:
    is_plain = _PLAIN.match(value) and not _NOT_TEXT.match(value) and not value.endswith(" ")
    if is_plain or _DIGITS_FIRST.match(value):
        return value
    if value.isprintable() and "\n" not in value:
        return "'" + value.replace("'", "''") + "'"
    return json.dumps(value, ensure_ascii=False)
