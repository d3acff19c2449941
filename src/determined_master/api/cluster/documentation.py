"""The documentation's pages, which come with the package, for browsers.

They are public: they hold nothing of a cluster.
"""

from __future__ import annotations

import asyncio
import base64
import hashlib
import html
import re
from functools import cache
from itertools import pairwise
from pathlib import Path, PurePosixPath

from determined_master.api.http.access import SIGNED_IN
from determined_master.api.http.routes import Call, Reply, plain_route
from determined_master.domain.errors import NotFound

PACKAGE = Path(__file__).parents[2]
PAGES = "the pages of the package are the same everywhere"
FIRST_PAGE = "index"
_STYLE = """
body { font: 16px/1.6 system-ui, sans-serif; margin: 0; color: #1b1f24; background: #fff; }
body > div { display: flex; flex-wrap: wrap; max-width: 78rem; margin: 0 auto; }
nav { flex: 0 0 13rem; padding: 1.5rem 1rem; font-size: .875rem; }
nav ul { list-style: none; margin: .5rem 0 0; padding: 0; }
nav a { display: block; padding: .15rem 0; text-decoration: none; }
nav a[aria-current] { font-weight: 600; color: inherit; }
main { flex: 1 1 20rem; min-width: 0; max-width: 50rem; padding: 1rem 1.5rem 4rem; }
a { color: #1a56b8; }
h1 { font-size: 1.75rem; line-height: 1.25; } h2 { font-size: 1.25rem; margin-top: 2rem; }
pre { overflow-x: auto; padding: .75rem 1rem; background: #f3f5f8; border-radius: 6px; }
code { font: .875em ui-monospace, monospace; }
:not(pre) > code { padding: .1em .3em; background: #f3f5f8; border-radius: 3px; }
table { display: block; overflow-x: auto; border-collapse: collapse; }
img { max-width: 100%; height: auto; border: 1px solid #d5d9e0; border-radius: 6px; }
th, td { padding: .35rem .75rem; text-align: left; vertical-align: top;
         border-bottom: 1px solid #d5d9e0; }
@media (prefers-color-scheme: dark) {
  body { color: #e6e8eb; background: #14171b; } a { color: #8ab4f8; }
  pre, :not(pre) > code { background: #1f242b; } th, td, img { border-color: #333a44; }
}
"""
_HASH = base64.b64encode(hashlib.sha256(_STYLE.encode()).digest()).decode()
_HEADERS = (
    (
        "content-security-policy",
        f"default-src 'none'; style-src 'sha256-{_HASH}'; img-src 'self'; base-uri 'none'; "
        "frame-ancestors 'none'",
    ),
    ("cache-control", "public, max-age=300"),
)


@plain_route("GET", "/docs", access=SIGNED_IN, public=PAGES)
async def docs_start(call: Call) -> Reply:
    """The first page."""
    return await _answer(FIRST_PAGE)


@plain_route("GET", "/docs/{page*}", access=SIGNED_IN, public=PAGES)
async def docs_page(call: Call) -> Reply:
    """One page by its name, with or without `.md`, or one of the pages' pictures.

    No name, as in `/docs/`, is the first page.
    """
    name = call.parameters["page"] or FIRST_PAGE
    picture = _pictures().get(name)
    if picture is not None:
        body = await asyncio.to_thread(picture.read_bytes)
        return Reply(body, content_type="image/png", headers=_HEADERS)
    return await _answer(name.removesuffix(".md"))


async def _answer(name: str) -> Reply:
    if name not in _pages():
        raise NotFound(f"page '{name}' not found: the list of pages is at /docs")
    body = await asyncio.to_thread(_rendered, name)
    return Reply(body, content_type="text/html; charset=utf-8", headers=_HEADERS)


def _root() -> Path:
    """The files of the wheel, in a clone those of the repository."""
    packed = PACKAGE / "documentation"
    return packed if packed.is_dir() else PACKAGE.parents[1] / "docs"


@cache
def _pages() -> dict[str, Path]:
    root = _root()
    return {path.relative_to(root).with_suffix("").as_posix(): path for path in root.rglob("*.md")}


@cache
def _pictures() -> dict[str, Path]:
    root = _root()
    return {path.relative_to(root).as_posix(): path for path in root.rglob("*.png")}


@cache
def _rendered(name: str) -> bytes:
    from markdown_it import MarkdownIt  # 60 modules, for masters whose pages are read

    text = _pages()[name].read_text(encoding="utf-8")
    markdown = MarkdownIt("commonmark", {"html": False}).enable("table")
    tokens = markdown.parse(text)
    for token in tokens:
        for child in token.children or ():
            if child.type == "link_open":
                target = _link(name, str(child.attrs.pop("href")))
                child.attrs.update({"href": target} if target else {})
            elif child.type == "image":
                picture = _normal(PurePosixPath(name).parent / str(child.attrs["src"]))
                child.attrs["src"] = f"/docs/{picture}" if picture in _pictures() else ""
    for opened, title in pairwise(tokens):
        if opened.type == "heading_open":
            opened.attrSet("id", _anchor(title.content))
    contents = markdown.renderer.render(tokens, markdown.options, {})
    return _page(_title(name), _navigation(name), contents).encode()


def _link(name: str, target: str) -> str:
    """A link between pages as an address of this master; empty for files that are not here."""
    path, hash_, part = target.partition("#")
    if "://" in target or not path:
        return target
    resolved = _normal(PurePosixPath(name).parent / path)
    page = resolved.removesuffix(".md")
    return f"/docs/{page}{hash_}{part}" if page in _pages() else ""


def _normal(path: PurePosixPath) -> str:
    parts: list[str] = []
    for part in path.parts:
        if part == "..":
            del parts[-1:]
        elif part != ".":
            parts.append(part)
    return "/".join(parts)


def _anchor(title: str) -> str:
    """The name of a heading, as code hosts make it."""
    return re.sub(r"[^\w\- ]", "", title.lower()).replace(" ", "-")


@cache
def _title(name: str) -> str:
    first = _pages()[name].read_text(encoding="utf-8").partition("\n")[0]
    return first.lstrip("# ").replace("`", "") or name


def _navigation(name: str) -> str:
    items = []
    for page in _order():
        current = ' aria-current="page"' if page == name else ""
        items.append(f'<li><a href="/docs/{page}"{current}>{html.escape(_title(page))}</a></li>')
    return "".join(items)


@cache
def _order() -> list[str]:
    """The first page, then the pages in the order in which it links them."""
    links = re.findall(r"\]\(([^)#]+)\.md\)", _pages()[FIRST_PAGE].read_text(encoding="utf-8"))
    return [FIRST_PAGE, *dict.fromkeys(page for page in links if page in _pages())]


def _page(title: str, navigation: str, contents: str) -> str:
    return f"""<!doctype html>
<html lang="en"><head><meta charset="utf-8"><title>{html.escape(title)} - Determined</title>
<meta name="viewport" content="width=device-width"><style>{_STYLE}</style></head>
<body><div><nav aria-label="Pages"><strong>Determined</strong><ul>{navigation}</ul></nav>
<main>{contents}</main></div></body></html>
"""
