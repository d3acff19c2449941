"""Fixtures that every room shares, and who runs which tests."""

from __future__ import annotations

import gc
import os
import signal
import sys
from collections.abc import Generator

import pytest
from hypothesis import HealthCheck, settings
from tests.bytecode import compile_stale

# Told to keep no bytecode, each of the thousand processes that tests start would compile all that
# it imports again: a master takes twice as long to start.
os.environ.pop("PYTHONDONTWRITEBYTECODE", None)
sys.dont_write_bytecode = False

# As the master does: the collector would else take a tenth of the time of many tests. Properties
# keep many objects until their last example.
gc.set_threshold(500_000, 20, 50)

# Each command line would look for translations of its help in a thousand places.
os.environ["LANGUAGE"] = "C"

# Shells have what they start in the background ignore interrupts, and so would all that tests
# start: those that prove what an interrupt does would wait for nothing.
if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:
    signal.signal(signal.SIGINT, signal.default_int_handler)

# The same examples in each run, however slow the machine is that tries them.
settings.register_profile(
    "determined", derandomize=True, deadline=None, suppress_health_check=[HealthCheck.too_slow]
)
settings.load_profile("determined")

pytest_plugins = ["tests.docker_fixture", "tests.left_behind", "tests.postgres"]
pytest.register_assert_rewrite("tests.contracts")  # what differs is told there, too

_LONG = ("compat", "docker", "e2e")
"""Marks of what starts real processes: it takes longest, and waits for most of that time."""


def pytest_configure(config: pytest.Config) -> None:
    if getattr(config.option, "numprocesses", None) and not hasattr(config, "workerinput"):
        compile_stale()


@pytest.hookimpl(wrapper=True)
def pytest_collection() -> Generator[None, object, object]:
    """Collect without the garbage collector, which would look at all tests again and again.

    What was collected lives until the end: the collector ignores it from then on.
    """
    gc.disable()
    try:
        return (yield)
    finally:
        gc.freeze()
        gc.enable()


@pytest.hookimpl(tryfirst=True)
def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Give a file's tests to one worker, in their order, unless they name a group.

    What a module shares (a database, a master, a cluster) is then made once, and its tests
    meet the same past in every run. Long groups come first: with a long one at the end a worker
    would be alone. Groups of several files, which have a name, are long.
    """
    long = set()
    for item in items:
        if item.get_closest_marker("xdist_group") is not None:
            long.add(_group_of(item))
        else:
            item.add_marker(pytest.mark.xdist_group(item.nodeid.partition("::")[0]))
    long |= {_group_of(i) for i in items if any(i.get_closest_marker(name) for name in _LONG)}
    items.sort(key=lambda item: _group_of(item) not in long)


def _group_of(item: pytest.Item) -> str:
    marker = item.get_closest_marker("xdist_group")
    assert marker is not None
    return str(marker.args[0])
