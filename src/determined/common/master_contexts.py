"""Contexts: named addresses of masters, one of which `det` and the SDK use by default."""

from __future__ import annotations

import json
import os
import pathlib
import re
from typing import Any, Dict, Mapping, NamedTuple, Optional

from determined.common import private_file
from determined.common.api._address import canonicalize_master_url

DEFAULT_ADDRESS = "localhost:8080"
MAX_CONTEXTS = 100
_NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]{0,63}")


class ContextError(ValueError):
    """The contexts cannot be read or changed as asked; the text has a remedy."""


class Default(NamedTuple):
    """The master that commands use without `-m`."""

    address: str
    source: str
    """Who names it: `DET_MASTER`, `context NAME`, or `default`."""


class ContextStore:
    """The contexts of a user, in one file.

    Args:
        path: the file; None for `contexts.json` in the directory of the client's files.
    """

    def __init__(self, path: Optional[pathlib.Path] = None) -> None:
        self.path = path or private_file.config_path() / "contexts.json"

    def addresses(self) -> Dict[str, str]:
        """Names to addresses, in the order of the names."""
        return dict(sorted(self._read()["contexts"].items()))

    @property
    def current(self) -> Optional[str]:
        """The name of the context in use."""
        document = self._read()
        name = document.get("current")
        return name if name in document["contexts"] else None

    def put(self, name: str, address: str, *, is_used: bool = False) -> None:
        """Create a context or change its address.

        Raises:
            ContextError: the name or the address has another form, or there are too many.
        """
        if not _NAME.fullmatch(name):
            raise ContextError(
                f"the name {name!r} of a context: use 1 to 64 letters, digits, '.', '_' and '-', "
                "and begin with a letter or a digit"
            )
        try:
            canonical = canonicalize_master_url(address)
        except ValueError as error:
            raise ContextError(str(error)) from None
        with private_file.change(self.path, self._read) as document:
            document["contexts"][name] = canonical
            if len(document["contexts"]) > MAX_CONTEXTS:
                raise ContextError(
                    f"there are {MAX_CONTEXTS} contexts already: remove one with "
                    "'det context remove NAME'"
                )
            if is_used:
                _use(document, name)

    def use(self, name: str) -> str:
        """Make a context the current one; its address.

        Raises:
            ContextError: there is no such context.
        """
        with private_file.change(self.path, self._read) as document:
            address = self._required(document, name)
            _use(document, name)
        return address

    def remove(self, name: str) -> None:
        """Remove a context. If it was in use, the one in use before it is again.

        Raises:
            ContextError: there is no such context.
        """
        with private_file.change(self.path, self._read) as document:
            self._required(document, name)
            del document["contexts"][name]
            if document.get("current") == name:
                document["current"] = document.pop("previous", None)

    def _required(self, document: Mapping[str, Any], name: str) -> str:
        try:
            return str(document["contexts"][name])
        except KeyError:
            names = ", ".join(sorted(document["contexts"])) or "none"
            raise ContextError(
                f"there is no context '{name}' (there is: {names}); create it with "
                "'det context create NAME ADDRESS'"
            ) from None

    def _read(self) -> Dict[str, Any]:
        try:
            document = json.loads(self.path.read_text(encoding="utf-8"))
            if not all(isinstance(a, str) for a in document["contexts"].values()):
                raise ValueError("an address is no text")
        except FileNotFoundError:
            return {"contexts": {}}
        except (ValueError, KeyError, TypeError, AttributeError) as error:
            raise ContextError(
                f"the file of contexts {self.path} is damaged ({error}): repair or remove it"
            ) from None
        return dict(document)


def default_master(environment: Optional[Mapping[str, str]] = None) -> Default:
    """The master that is used when none is named: that of DET_MASTER, else of the current context.

    Raises:
        ContextError: the file of contexts is damaged.
    """
    env = os.environ if environment is None else environment
    address = env.get("DET_MASTER")
    if address:
        return Default(address, "DET_MASTER")
    store = ContextStore()
    name = store.current
    if name is None:
        return Default(DEFAULT_ADDRESS, "default")
    return Default(store.addresses()[name], f"context {name}")


def _use(document: Dict[str, Any], name: str) -> None:
    if document.get("current") != name:
        document["previous"] = document.get("current")
        document["current"] = name
