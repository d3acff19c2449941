"""Finds the route of a path.

The raw path is matched, segment by segment, and values are decoded after the match: a `%2F` is a
slash of a name, and reaches no other route. Paths without parameters cost one look-up.

The client of 0.38.1 sends the slashes of names as they are. A path that matches nothing is
therefore matched again, with one parameter of `NAMES` that may take several segments.
"""

from __future__ import annotations

from typing import Generic, NamedTuple, TypeVar
from urllib.parse import unquote_to_bytes

from determined_master.domain.storable import storable

T = TypeVar("T")

NAMES = frozenset(
    (
        *(b"{label}", b"{model_name}", b"{resource_pool_name}"),
        *(b"{template.name}", b"{template_name}", b"{username}"),
    )
)
"""Parameters that hold a name that may have slashes."""


class Match(NamedTuple, Generic[T]):
    """The targets of a path by method, and the values of its parameters in order."""

    targets: dict[str, T]
    values: tuple[str, ...]


class _Node(Generic[T]):
    __slots__ = ("is_name", "is_rest_optional", "literals", "parameter", "rest", "targets")

    def __init__(self) -> None:
        self.is_name = False
        self.literals: dict[bytes, _Node[T]] = {}
        self.parameter: _Node[T] | None = None
        self.rest: dict[str, T] = {}
        self.is_rest_optional = False
        self.targets: dict[str, T] = {}


class PathTable(Generic[T]):
    """Paths with `{parameters}`; a last `{name*}` takes all that follows, slashes too.

    A last `{name**}` also stands for nothing: its path without the slash.
    """

    def __init__(self) -> None:
        self._root: _Node[T] = _Node()
        self._named: _Node[T] = _Node()
        self._exact: dict[bytes, Match[T]] = {}

    def add(self, method: str, path: str, target: T) -> None:
        """Add a target.

        Raises:
            ValueError: there is one for this method and path already.
        """
        targets = _targets_for(self._root, path)
        if method in targets:
            raise ValueError(f"two routes for {method} {path}")
        targets[method] = target
        if not NAMES.isdisjoint(path.encode().split(b"/")):
            _targets_for(self._named, path)[method] = target
        if "{" not in path:
            self._exact[path.encode()] = Match(targets, ())

    def find(self, raw_path: bytes) -> Match[T] | None:
        """The targets of a path as it came, still percent-encoded and without its query."""
        found = self._exact.get(raw_path)
        if found is not None:
            return found
        segments = raw_path.split(b"/")[1:]
        raw = self._walk(self._root, segments, 0) or self._walk_name(segments)
        if raw is None:
            return None
        targets, values = raw
        return Match(targets, tuple(_decoded(value) for value in values))

    def _walk(
        self, node: _Node[T], segments: list[bytes], at: int
    ) -> tuple[dict[str, T], list[bytes]] | None:
        """Literals before parameters before the rest; what leads nowhere is tried again."""
        if at == len(segments):
            if node.targets:
                return node.targets, []
            return (node.rest, [b""]) if node.is_rest_optional else None
        segment = segments[at]
        literal = node.literals.get(segment)
        if literal is not None:
            found = self._walk(literal, segments, at + 1)
            if found is not None:
                return found
        if node.parameter is not None and segment:
            found = self._walk(node.parameter, segments, at + 1)
            if found is not None:
                found[1].insert(0, segment)
                return found
        if node.rest:
            return node.rest, [b"/".join(segments[at:])]
        return None

    def _walk_name(self, segments: list[bytes]) -> tuple[dict[str, T], list[bytes]] | None:
        """With a name of several segments, as few as possible.

        Cost: linear in the segments, since one parameter alone may take several.
        """
        node, values = self._named, list[bytes]()
        for at, segment in enumerate(segments):
            if node.parameter is not None and node.parameter.is_name:
                return self._end_of_name(node.parameter, segments, at, values)
            following = node.literals.get(segment)
            if following is None and node.parameter is not None and segment:
                following = node.parameter
                values.append(segment)
            if following is None:
                return None
            node = following
        return None

    def _end_of_name(
        self, node: _Node[T], segments: list[bytes], at: int, values: list[bytes]
    ) -> tuple[dict[str, T], list[bytes]] | None:
        for end in range(at + 2, len(segments) + 1):
            last = self._walk(node, segments, end)
            if last is not None and segments[end - 1]:
                return last[0], [*values, b"/".join(segments[at:end]), *last[1]]
        return None


def _targets_for(root: _Node[T], path: str) -> dict[str, T]:
    node = root
    for segment in path.encode().split(b"/")[1:]:
        if segment.endswith(b"*}"):
            node.is_rest_optional = segment.endswith(b"**}")
            return node.rest
        if segment.startswith(b"{"):
            node.parameter = node.parameter or _Node()
            node = node.parameter
            node.is_name = node.is_name or segment in NAMES
        else:
            node = node.literals.setdefault(segment, _Node())
    return node.targets


def _decoded(value: bytes) -> str:
    """As text; what no database can hold becomes U+FFFD."""
    return storable((unquote_to_bytes(value) if b"%" in value else value).decode(errors="replace"))
