"""Reads the part of CEL that selectors of devices use.

Kubernetes evaluates the whole language. Here an expression that uses more of it is refused: a
guess would count devices that no pod gets.

Source: https://github.com/google/cel-spec (the grammar of `Expr`).
"""

from __future__ import annotations

import re
from collections.abc import Iterator

import msgspec

MAX_CHARACTERS = 10 * 1024
"""Kubernetes takes no longer expression."""
MAX_DEPTH = 40
FUNCTIONS = frozenset({"has", "quantity"})
METHODS = frozenset(
    {
        "compareTo",
        "contains",
        "endsWith",
        "isGreaterThan",
        "isLessThan",
        "lowerAscii",
        "startsWith",
    }
)
_TOKEN = re.compile(
    r"""\s*(?:(?P<number>[0-9]+)(?![\w.])|(?P<name>[A-Za-z_]\w*)
    |(?P<text>"(?:[^"\\\n]|\\["'\\])*"|'(?:[^'\\\n]|\\["'\\])*')
    |(?P<sign>&&|\|\||[=!<>]=|[<>!()\[\],.-]))""",
    re.VERBOSE | re.ASCII,
)
_COMPARISONS = frozenset({"==", "!=", "<", "<=", ">", ">=", "in"})


class NotUnderstood(Exception):
    """An expression is malformed, or uses a part of CEL that is not evaluated here."""


class CelValue(msgspec.Struct, frozen=True):
    value: str | int | bool


class CelDevice(msgspec.Struct, frozen=True):
    """The variable `device`."""


class CelField(msgspec.Struct, frozen=True):
    """`of.name` or `of["name"]`."""

    of: CelNode
    name: CelNode
    is_index: bool = False


class CelCall(msgspec.Struct, frozen=True):
    """A function, or a method whose first argument is its object."""

    name: str
    arguments: tuple[CelNode, ...]


class CelOperation(msgspec.Struct, frozen=True):
    sign: str
    sides: tuple[CelNode, ...]


class CelListed(msgspec.Struct, frozen=True):
    items: tuple[CelNode, ...]


CelNode = CelValue | CelDevice | CelField | CelCall | CelOperation | CelListed


def parse(text: str) -> CelNode:
    """An expression as a tree.

    Raises:
        NotUnderstood: it is malformed, or uses another part of CEL; the text has the place.
    """
    if len(text) > MAX_CHARACTERS:
        raise NotUnderstood(f"it has more than {MAX_CHARACTERS} characters")
    return _Parser(list(_tokens(text))).whole()


def _tokens(text: str) -> Iterator[tuple[str, str]]:
    at = 0
    while text[at:].strip():
        found = _TOKEN.match(text, at)
        if found is None:
            raise NotUnderstood(f"{_cut(text[at:].strip())!r} is not understood")
        kind = str(found.lastgroup)
        yield kind, found[kind]
        at = found.end()


class _Parser:
    """Takes one token after the other; each method reads one rule of the grammar."""

    def __init__(self, tokens: list[tuple[str, str]]) -> None:
        self._tokens = tokens
        self._at = 0
        self._depth = 0

    def whole(self) -> CelNode:
        found = self._any_of()
        if self._at < len(self._tokens):
            raise NotUnderstood(f"{self._next()[1]!r} is not expected there")
        return found

    def _any_of(self) -> CelNode:
        self._depth += 1
        if self._depth > MAX_DEPTH:
            raise NotUnderstood(f"it is nested more than {MAX_DEPTH} levels deep")
        sides = [self._all_of()]
        while self._takes("||"):
            sides.append(self._all_of())
        self._depth -= 1
        return sides[0] if len(sides) == 1 else CelOperation("||", tuple(sides))

    def _all_of(self) -> CelNode:
        sides = [self._comparison()]
        while self._takes("&&"):
            sides.append(self._comparison())
        return sides[0] if len(sides) == 1 else CelOperation("&&", tuple(sides))

    def _comparison(self) -> CelNode:
        left = self._negated()
        if self._peek()[1] in _COMPARISONS and self._peek()[0] != "text":
            sign = self._next()[1]
            return CelOperation(sign, (left, self._negated()))
        return left

    def _negated(self) -> CelNode:
        nots = 0
        while self._takes("!"):
            nots += 1
        found = self._member()
        return CelOperation("!", (found,)) if nots % 2 else found

    def _member(self) -> CelNode:
        found = self._primary()
        while True:
            if self._takes("["):
                found = CelField(found, self._any_of(), is_index=True)
                self._expects("]")
            elif self._takes("."):
                name = self._name()
                if self._takes("("):
                    found = _call(name, (found, *self._until(")")), METHODS)
                else:
                    found = CelField(found, CelValue(name))
            else:
                return found

    def _primary(self) -> CelNode:
        kind, text = self._next()
        if text == "-" and self._peek()[0] == "number":
            return CelValue(-int(self._next()[1]))
        if (value := _literal(kind, text)) is not None:
            return CelValue(value)
        if text == "(":
            found = self._any_of()
            self._expects(")")
            return found
        if text == "[":
            return CelListed(self._until("]"))
        if text == "device":
            return CelDevice()
        if kind == "name" and self._takes("("):
            return _call(text, self._until(")"), FUNCTIONS)
        raise NotUnderstood(f"{text!r} is not understood" if text else "it is not complete")

    def _until(self, end: str) -> tuple[CelNode, ...]:
        """Expressions between commas."""
        found: list[CelNode] = []
        while not self._takes(end):
            if found:
                self._expects(",")
            found.append(self._any_of())
        return tuple(found)

    def _name(self) -> str:
        kind, text = self._next()
        if kind != "name":
            raise NotUnderstood(f"{text!r} is no name of a field")
        return text

    def _peek(self) -> tuple[str, str]:
        return self._tokens[self._at] if self._at < len(self._tokens) else ("", "")

    def _next(self) -> tuple[str, str]:
        found = self._peek()
        self._at += 1
        return found

    def _takes(self, sign: str) -> bool:
        if self._peek() != ("sign", sign):
            return False
        self._at += 1
        return True

    def _expects(self, sign: str) -> None:
        if not self._takes(sign):
            raise NotUnderstood(f"{sign!r} is missing before {_cut(self._peek()[1] or 'its end')}")


def _literal(kind: str, text: str) -> str | int | bool | None:
    """The value of a token; None for one that is no literal."""
    if kind == "text":
        return re.sub(r"\\(.)", r"\1", text[1:-1])
    if kind == "number":
        return int(text)
    return {"true": True, "false": False}.get(text)


def _call(name: str, arguments: tuple[CelNode, ...], known: frozenset[str]) -> CelCall:
    if name not in known:
        raise NotUnderstood(f"the function {_cut(name)} is not evaluated by the master")
    wanted = 1 if name in ("has", "quantity", "lowerAscii") else 2
    if len(arguments) != wanted:
        raise NotUnderstood(f"the function {name} has the wrong number of arguments")
    if name == "has" and not (isinstance(arguments[0], CelField) and not arguments[0].is_index):
        raise NotUnderstood("has() takes a field, such as has(device.attributes['d'].model)")
    return CelCall(name, arguments)


def _cut(text: str) -> str:
    return text if len(text) <= 30 else f"{text[:30]}…"
