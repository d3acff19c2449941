"""The documentation's pages in a browser."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
from tests.api.client import Client

PAGES = Path(__file__).parents[3] / "docs"
LINK = re.compile(r'href="(/docs/[^"]*)"')
PICTURE = re.compile(r'<img src="([^"]*)" alt="([^"]+)"')


async def test_the_first_page_names_all_others_in_the_order_of_the_navigation(
    anonymous: Client,
) -> None:
    answer = await anonymous("GET", "/docs")
    text = answer.body.decode()
    assert (answer.status, answer.headers["content-type"]) == (200, "text/html; charset=utf-8")
    assert "<h1" in text
    navigation = LINK.findall(text.partition("<main>")[0])
    assert navigation[:2] == ["/docs/index", "/docs/tutorial"]
    assert {f"/docs/{page.stem}" for page in PAGES.glob("*.md")} <= {*navigation}
    assert "<script" not in text
    assert "default-src 'none'" in answer.headers["content-security-policy"]
    assert (await anonymous("GET", "/docs/")).body == answer.body


async def test_every_page_is_shown_and_its_links_lead_to_pages(anonymous: Client) -> None:
    names = sorted(p.relative_to(PAGES).with_suffix("").as_posix() for p in PAGES.rglob("*.md"))
    assert len(names) > 30
    shown: dict[str, str] = {}
    for name in names:
        answer = await anonymous("GET", f"/docs/{name}")
        assert answer.status == 200, name
        shown[f"/docs/{name}"] = answer.body.decode()
    for page, text in shown.items():
        for link in LINK.findall(text):
            target, _, anchor = link.partition("#")
            assert target in shown, (page, link)
            assert not anchor or f'id="{anchor}"' in shown[target], (page, link)


async def test_the_pictures_of_a_page_come_from_the_master(anonymous: Client) -> None:
    page = await anonymous("GET", "/docs/web-ui")
    shown = PICTURE.findall(page.body.decode())
    assert len(shown) >= 5
    for address, _ in shown:
        answer = await anonymous("GET", address)
        assert (answer.status, answer.headers["content-type"]) == (200, "image/png")
        assert answer.body.startswith(b"\x89PNG")
    assert "img-src 'self'" in page.headers["content-security-policy"]


@pytest.mark.parametrize(
    "name",
    [
        "pictures/none.png",
        "../src/x.png",
        "nothing",
        "../README",
        "..%2FREADME",
        "%2Fetc%2Fpasswd",
        "a//b",
    ],
)
async def test_nothing_but_pages_is_shown(anonymous: Client, name: str) -> None:
    answer = await anonymous("GET", f"/docs/{name}")
    assert answer.status == 404
