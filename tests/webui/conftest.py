"""A cluster with work of all kinds, a browser, and persons in front of it.

Journeys of one module share a browser; those of one worker share the cluster. Each journey makes
what it changes. Pages that break are kept: a failed journey leaves a trace and a picture below
`WEBUI_TRACES` (else the directory of temporary files), and pytest prints where. If that variable
is set, a trace also has pictures of all steps, which cost a quarter of the browser's time.
"""

from __future__ import annotations

import os
import tempfile
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import pytest
from playwright.sync_api import expect, sync_playwright
from tests.e2e.cluster import Cluster
from tests.e2e.cluster_api import PASSWORD
from tests.e2e.conftest import running
from tests.webui.chromium import LIMIT_MS, OPTIONS, find_chromium, reason_to_skip

SLOTS = 8
expect.set_options(timeout=LIMIT_MS)
TRACES = Path(os.environ.get("WEBUI_TRACES") or Path(tempfile.gettempdir()) / "webui-traces")


@dataclass(frozen=True)
class Site:
    """A master whose pages are visited."""

    cluster: Cluster
    ids: dict[str, Any]
    """Of what `seed_small` made: `projects` by `workspace/name`, `experiments` by name."""

    @property
    def address(self) -> str:
        return self.cluster.address


@pytest.fixture(scope="session")
def site() -> Iterator[Site]:
    """A cluster of eight slots that `seed_small` has filled."""
    missing = reason_to_skip()
    if missing:
        pytest.skip(missing)
    from tests.webui.seed_small import seed

    with running(slots=SLOTS) as cluster:
        yield Site(cluster, seed(cluster.address, "admin", PASSWORD))


@pytest.fixture(scope="session")
def things(site: Site) -> Iterator[Any]:
    """Things of the seed for every address of the web UI."""
    from tests.webui.addresses import things_of

    found = things_of(site.cluster, site.ids)
    yield found
    site.cluster.post(f"/api/v1/commands/{found.waiting_task}/kill")


@pytest.fixture(scope="module")
def browser() -> Iterator[Any]:
    """A Chromium without a window.

    It ends with the module: its event loop would disturb asynchronous tests of other modules.
    """
    missing = reason_to_skip()
    if missing:
        pytest.skip(missing)
    with sync_playwright() as started, TemporaryDirectory() as traces:
        made = started.chromium.launch(
            executable_path=find_chromium(), args=list(OPTIONS), traces_dir=traces
        )
        yield made
        made.close()


@pytest.hookimpl(tryfirst=True)
def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Mark what needs a browser: `make test-webui` runs these, `make test` the others."""
    for item in items:
        if {"browser", "site"} & set(getattr(item, "fixturenames", ())):
            item.add_marker(pytest.mark.browser)


@pytest.hookimpl(wrapper=True)
def pytest_runtest_makereport(item: pytest.Item) -> Any:
    """Fixtures see whether their test failed."""
    report = yield
    if report.when == "call":
        item.stash[_FAILED] = report.failed
    return report


_FAILED = pytest.StashKey[bool]()


@pytest.fixture
def visit(request: pytest.FixtureRequest, browser: Any) -> Iterator[Callable[..., Any]]:
    """Make visitors: `visit(address, user="admin", **context)`; each must end without a fault."""
    from tests.webui.visitor import Visitor

    made: list[Visitor] = []

    def new(address: str, user: str | None = "admin", **options: Any) -> Visitor:
        visitor = Visitor(browser, address, user, **options)
        visitor.context.tracing.start(screenshots="WEBUI_TRACES" in os.environ, snapshots=True)
        made.append(visitor)
        return visitor

    yield new
    is_failed = request.node.stash.get(_FAILED, False)
    faults = [fault for visitor in made for fault in visitor.faults]
    for number, visitor in enumerate(made):
        place = TRACES / f"{request.node.name}-{number}"
        if is_failed or faults:
            TRACES.mkdir(parents=True, exist_ok=True)
            visitor.page.screenshot(path=place.with_suffix(".png"))
            visitor.context.tracing.stop(path=place.with_suffix(".zip"))
            print(f"the page and its trace: {place}.png, {place}.zip")
        visitor.close()
    assert not faults, "\n".join(dict.fromkeys(faults))


@pytest.fixture
def admin(site: Site, visit: Callable[..., Any]) -> Any:
    """The admin in front of the seeded cluster."""
    return visit(site.address)
