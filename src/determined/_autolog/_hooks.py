"""Replacement of a framework's functions by ones that record, now or after its import."""

from __future__ import annotations

import functools
import importlib.util
import inspect
import sys
from typing import Any, Callable, Dict, Optional, Sequence

Around = Callable[..., Any]
"""Called with the framework's function and the arguments of a call."""

_MARK = "_determined_autolog"


def replace(owner: Any, name: str, around: Around) -> None:
    """Let `around` carry out the calls of a function of a class or module; once.

    The new function refers to the old one and to `around` alone, so that what frameworks pickle
    with it, such as classes of `__main__`, needs no state of this process.
    """
    original = vars(owner)[name]
    if not hasattr(original, _MARK):
        setattr(owner, name, replacement(original, around))


def replacement(original: Callable[..., Any], around: Around) -> Callable[..., Any]:
    """A function in whose place `around` is called."""

    @functools.wraps(original)
    def recorded(*args: Any, **kwargs: Any) -> Any:
        return around(original, *args, **kwargs)

    setattr(recorded, _MARK, True)
    return recorded


def bound(original: Callable[..., Any], *args: Any, **kwargs: Any) -> Any:
    """The arguments of a call by name; None for a wrong call, which the function refuses."""
    try:
        call = inspect.signature(original).bind(*args, **kwargs)
    except TypeError:
        return None
    call.apply_defaults()
    return call


def is_ours(one: Any) -> bool:
    """Whether a callback or logger is of this package, also by a subclass: it reports already."""
    return any(cls.__module__.startswith("determined.") for cls in type(one).__mro__)


class AfterImport:
    """A finder of modules that calls a function after the import of some of them."""

    def __init__(self, hooks: Dict[str, Callable[[], None]]) -> None:
        self._hooks = dict(hooks)
        self._is_finding = False

    def install(self) -> None:
        """Call the functions of modules that are imported, and wait for the others."""
        for name in [one for one in self._hooks if is_imported(one)]:
            self._hooks.pop(name)()
        if self._hooks:
            sys.meta_path.insert(0, self)

    def find_spec(self, name: str, path: Optional[Sequence[str]], target: Any = None) -> Any:
        """The spec by the other finders, whose loader calls the function at its end."""
        if name not in self._hooks or self._is_finding:
            return None
        self._is_finding = True
        try:
            spec = importlib.util.find_spec(name)
        finally:
            self._is_finding = False
        loader = spec.loader if spec is not None else None
        execute = getattr(loader, "exec_module", None)
        if execute is None:
            return spec

        def execute_and_call(module: Any) -> None:
            execute(module)
            vars(loader).pop("exec_module", None)
            hook = self._hooks.pop(name, None)
            if hook is not None:
                hook()

        vars(loader)["exec_module"] = execute_and_call
        return spec


def is_imported(name: str) -> bool:
    """Whether a module is imported to its end."""
    module = sys.modules.get(name)
    spec = getattr(module, "__spec__", None)
    return module is not None and not getattr(spec, "_initializing", False)
