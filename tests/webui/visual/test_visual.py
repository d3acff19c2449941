"""The key screens look as they did: the same answers give the same pictures.

A change that is wanted: `python -m tests.webui.visual.record pictures`, look, commit. A screen
that asks for something new: without `pictures`, which records a cluster again.
"""

from __future__ import annotations

import subprocess
from collections.abc import Iterator
from typing import Any

import pytest
from tests.webui.conftest import TRACES
from tests.webui.visual.compare import DRAWN_BY, PICTURES, difference
from tests.webui.visual.replay import Recording, Replay
from tests.webui.visual.screens import SCREENS, Screen

pytestmark = [pytest.mark.slow, pytest.mark.xdist_group("webui-visual")]

MAX_SHARE = 0.002
"""The share of pixels that may differ: an eighth of a line of text."""


@pytest.fixture(scope="module")
def recording() -> Recording:
    return Recording.load()


@pytest.fixture(scope="module")
def blank(browser: Any) -> Iterator[Any]:
    """A page that compares pictures."""
    fonts = subprocess.run(["fc-list"], capture_output=True, text=True, check=False).stdout
    if "DejaVu" not in fonts:
        pytest.skip("the font of the pictures is missing: apt-get install fonts-dejavu-core")
    drawn, here = (text.partition(".")[0] for text in (DRAWN_BY.read_text(), browser.version))
    if drawn != here:
        pytest.skip(
            f"Chromium {drawn} has drawn the pictures, and this is {here}: draw them again"
        )
    page = browser.new_page()
    yield page
    page.close()


@pytest.mark.parametrize("screen", SCREENS, ids=[screen.name for screen in SCREENS])
def test_a_screen_looks_as_its_picture(
    screen: Screen, recording: Recording, browser: Any, blank: Any
) -> None:
    visit = Replay(browser, recording, **screen.options)
    try:
        screen.act(visit.goto(screen.address(recording.ids)))
        visit.settle()
        assert visit.missing == [], "not recorded: run tests.webui.visual.record"
        seen = visit.page.screenshot()
    finally:
        visit.context.close()
    kept = (PICTURES / f"{screen.name}.png").read_bytes()
    share, box = difference(blank, kept, seen)
    if share > MAX_SHARE:
        TRACES.mkdir(parents=True, exist_ok=True)
        (TRACES / f"{screen.name}.png").write_bytes(seen)
    assert share <= MAX_SHARE, (
        f"{share:.2%} of it differ, within {box}: {TRACES}/{screen.name}.png"
    )


def test_a_changed_picture_is_found(blank: Any) -> None:
    """A dialog's width, a colour or a lost line is more than the share that may differ."""
    kept = (PICTURES / "home.png").read_bytes()
    assert difference(blank, kept, kept) == (0, None)
    share, _ = difference(blank, kept, (PICTURES / "home-dark.png").read_bytes())
    assert share > MAX_SHARE
