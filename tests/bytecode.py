"""Compiles what a run of several workers imports once, before the workers start.

All workers import the same files in the same order. In a fresh clone each of them would compile
all of these files: that took half of the time until the first test.
"""

from __future__ import annotations

import importlib.machinery
import os
import struct
import sys
import warnings
from collections.abc import Iterable, Sequence
from contextlib import suppress
from pathlib import Path
from types import ModuleType

from _pytest.assertion.rewrite import AssertionRewritingHook

ROOT = Path(__file__).parents[1]
SOURCES = ("src", "tests", "tools")
_HEADER = struct.Struct("<4xLLL")
"""Flags, the source's time of change and its size (PEP 552)."""


def compile_stale(root: Path = ROOT) -> None:
    """Compile all sources without bytecode, in a process for each core."""
    stale = stale_sources(root)
    if not stale:
        return
    count = os.cpu_count() or 1
    children = [_in_a_child(root, stale[at::count]) for at in range(count)]
    for child in children:
        os.waitpid(child, 0)


def compile_one(root: Path, source: Path) -> None:
    """Compile a file as the import of it would, and run nothing of it.

    Raises:
        SyntaxError: it cannot be compiled.
    """
    name = ".".join(source.relative_to(root).with_suffix("").parts)
    hook = next((h for h in sys.meta_path if isinstance(h, AssertionRewritingHook)), None)
    spec = hook.find_spec(name, [str(source.parent)]) if hook is not None else None
    if spec is None:  # no file whose assertions are rewritten
        importlib.machinery.SourceFileLoader(name, str(source)).get_code(name)
        _keep_constants(name, source)
        return
    assert spec.loader is not None
    module = ModuleType(name)
    module.__spec__ = spec
    # Without built-in names it ends at its first import.
    module.__dict__["__builtins__"] = {}
    with suppress(ImportError, NameError, KeyError):
        spec.loader.exec_module(module)


def stale_sources(root: Path) -> list[Path]:
    """Python files that are newer than their bytecode, or have none."""
    found: list[Path] = []
    for source in SOURCES:
        for directory, _, names in os.walk(root / source):
            sources = [name for name in names if name.endswith(".py")]
            if sources:
                found += _stale_in(Path(directory), sources)
    return sorted(found)


def _stale_in(directory: Path, names: Iterable[str]) -> list[Path]:
    cache = directory / "__pycache__"
    kept: dict[str, list[Path]] = {}
    with suppress(FileNotFoundError):
        for compiled in cache.iterdir():
            stem, _, tag = compiled.name.partition(".")
            if tag.startswith(str(sys.implementation.cache_tag)):
                kept.setdefault(stem, []).append(compiled)
    paths = [directory / name for name in names]
    return [p for p in paths if not any(_is_of(p, c) for c in kept.get(p.stem, ()))]


def _is_of(source: Path, compiled: Path) -> bool:
    with suppress(OSError, struct.error):
        with compiled.open("rb") as file:
            _, changed, size = _HEADER.unpack(file.read(_HEADER.size))
        known = source.stat()
        return bool((changed, size) == (int(known.st_mtime), known.st_size))
    return False


def _in_a_child(root: Path, sources: Sequence[Path]) -> int:
    child = os.fork()
    if child:
        return child
    try:
        for source in sources:
            # The worker that imports it reports the error.
            with suppress(Exception):
                compile_one(root, source)
    finally:
        os._exit(0)


def _keep_constants(name: str, source: Path) -> None:
    """Hypothesis draws examples from the constants of all sources, and keeps them in files."""
    from hypothesis.errors import HypothesisSideeffectWarning
    from hypothesis.internal.constants_ast import constants_from_module, is_local_module_file

    if is_local_module_file(str(source)):
        module = ModuleType(name)
        module.__file__ = str(source)
        with warnings.catch_warnings():
            # It warns of work before the tests begin, which is what is wanted here.
            warnings.simplefilter("ignore", HypothesisSideeffectWarning)
            constants_from_module(module)
