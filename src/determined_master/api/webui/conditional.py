"""What a request accepts: content codings, and the version that its cache holds."""

from __future__ import annotations

from collections.abc import Iterable


def choose_coding(accept_encoding: str, available: Iterable[str]) -> str:
    """The content coding of an answer; empty for none.

    Args:
        accept_encoding: the header; without it, nothing is compressed.
        available: codings that the server has, the best first. Of equally welcome ones the first
            is chosen.

    Source: RFC 9110, 12.5.3; identity is always taken as acceptable.
    """
    weights = dict(_weighted(accept_encoding))
    best, best_weight = "", 0.0
    for coding in available:
        weight = weights.get(coding, weights.get("*", 0.0))
        if weight > best_weight:
            best, best_weight = coding, weight
    return best


def is_current(if_none_match: str, etag: str) -> bool:
    """Whether the cache of a client holds this version (weak comparison, RFC 9110, 13.1.2)."""
    known = {part.strip().removeprefix("W/") for part in if_none_match.split(",")}
    return "*" in known or etag.removeprefix("W/") in known


def _weighted(header: str) -> Iterable[tuple[str, float]]:
    for item in header.split(","):
        name, _, parameter = item.partition(";")
        key, _, value = parameter.partition("=")
        yield name.strip().lower(), _weight(value) if key.strip().lower() == "q" else 1.0


def _weight(text: str) -> float:
    try:
        return float(text.strip())
    except ValueError:
        return 0.0
