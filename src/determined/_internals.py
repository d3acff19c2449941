"""Names of 0.38.1 that only its own harness could use: they raise when they are used."""

from __future__ import annotations

from typing import Any, NoReturn


class Internal:
    """Stands for a class or function; an import works, and any use names what to use."""

    def __init__(self, name: str, remedy: str) -> None:
        self._text = f"{name} is internal to the harness of 0.38.1 and does nothing here: {remedy}"

    def __call__(self, *_: Any, **__: Any) -> NoReturn:
        raise NotImplementedError(self._text)

    def __mro_entries__(self, _: Any) -> NoReturn:
        raise NotImplementedError(self._text)

    def __getattr__(self, name: str) -> NoReturn:
        # Tools probe for dunders and expect an AttributeError.
        if name.startswith("__"):
            raise AttributeError(name)
        raise NotImplementedError(self._text)
