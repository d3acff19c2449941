"""The addresses of the web UI: its files, and one page for all others.

Where its files are not installed, each address says so and how to get them.
"""

from __future__ import annotations

import hashlib
import html
import logging
from functools import lru_cache
from urllib.parse import parse_qs

import msgspec
from isal import igzip

from determined_master import entropy
from determined_master.api.access.login_page import form_address, login_form
from determined_master.api.http.access import SIGNED_IN
from determined_master.api.http.exchange import GZIP_FROM_BYTES
from determined_master.api.http.plain import NOT_MODIFIED
from determined_master.api.http.prefix import path_prefix
from determined_master.api.http.routes import Call, Reply, plain_route
from determined_master.api.webui.boot import boot_json
from determined_master.api.webui.conditional import choose_coding, is_current
from determined_master.api.webui.index import Template, policy
from determined_master.domain.errors import InvalidArgument, NotFound
from determined_master.services.cluster.web_ui import StaticFile, WebUi
from determined_master.services.page_data import PageData

log = logging.getLogger(__name__)

HTML = "text/html; charset=utf-8"
HASHED = "assets/"
"""Names below it hold a hash of the content: a browser never needs to ask for them again."""
FOREVER = "public, max-age=31536000, immutable"
TEN_MINUTES = "public, max-age=600"
ASSETS = "the files of the package are the same everywhere"
SIGN_IN = "it asks for the login"
PAGE = "without a login it holds no data of the cluster"
"""Reasons why a page needs no token."""
MODES = ("light", "dark")
ORIENTATIONS = ("horizontal", "vertical")
MISSING = """<!doctype html>
<html lang="en">
<head><meta charset="utf-8"><title>Determined: the web UI is missing</title></head>
<body>
<h1>The web UI is missing</h1>
<p>This master (Determined {version}) runs, but <code>{directory}</code> has no web UI. A wheel of
a release carries it. In a clone, <code>make webui</code> builds it, which needs a registry of npm
packages. Then start the master again.</p>
<p>Without it: <a href="{prefix}/det/login">sign in</a>,
<a href="{prefix}/docs">the documentation</a>, <a href="{prefix}/api/v1/openapi.json">the API</a>,
<a href="{prefix}/info">facts</a>, <a href="{prefix}/health">health</a>.
On the command line: <code>det user login</code>.</p>
</body>
</html>
"""


@plain_route("GET", "/det/assets/{path*}", access=SIGNED_IN, public=ASSETS)
async def get_ui_asset(call: Call, web_ui: WebUi) -> Reply:
    """A file whose name changes with its content."""
    name = HASHED + call.parameters["path"]
    found = web_ui.find(name)
    if found is None:
        raise NotFound(f"/det/{name} is not a file of this web UI: reload the page")
    return _file(call, found, FOREVER)


@plain_route("HEAD", "/det/assets/{path*}", access=SIGNED_IN, public=ASSETS)
async def head_ui_asset(call: Call, web_ui: WebUi) -> Reply:
    """The headers of such a file."""
    reply: Reply = await get_ui_asset.handler(call, web_ui)
    return reply


@plain_route(
    "GET",
    "/det/customer-assets/logo",
    access=SIGNED_IN,
    public="the page of the login shows it",
    query=("orientation", "mode"),
)
async def get_logo(call: Call, web_ui: WebUi) -> Reply:
    """The cluster's own logo, which the sign-in page shows too."""
    query = parse_qs(call.http.query)
    mode = query.get("mode", ["light"])[0]
    orientation = query.get("orientation", ["horizontal"])[0]
    if mode not in MODES or orientation not in ORIENTATIONS:
        raise InvalidArgument(
            f"mode is {mode[:40]!r} and orientation {orientation[:40]!r}: they must be one of "
            f"{', '.join(MODES)} and one of {', '.join(ORIENTATIONS)}"
        )
    found = web_ui.find_logo(mode, orientation)
    if found is None:
        raise NotFound("this cluster has no logo of its own: set ui_customization.logo_paths")
    reply = _file(call, found, TEN_MINUTES)
    # An image that is opened as a page runs nothing.
    headers = (*reply.headers, ("content-security-policy", "default-src 'none'; sandbox"))
    return msgspec.structs.replace(reply, headers=headers)


@plain_route("GET", "/det/login", access=SIGNED_IN, public=SIGN_IN, knows_session=True)
async def get_login(call: Call, web_ui: WebUi, data: PageData) -> Reply:
    """The page of the web UI; with `form`, or without a web UI, a form that needs no scripts."""
    if not web_ui.is_installed or "form" in parse_qs(call.http.query, keep_blank_values=True):
        return login_form(call)
    return await _page(call, web_ui, web_ui.login, data)


@plain_route("HEAD", "/det/login", access=SIGNED_IN, public=SIGN_IN, knows_session=True)
async def head_login(call: Call, web_ui: WebUi, data: PageData) -> Reply:
    """The headers of the login."""
    reply: Reply = await get_login.handler(call, web_ui, data)
    return reply


@plain_route("GET", "/det/{path**}", access=SIGNED_IN, public=PAGE, knows_session=True)
async def get_ui_page(call: Call, web_ui: WebUi, data: PageData) -> Reply:
    """A file of the web UI, and its page at every other address."""
    if not web_ui.is_installed:
        text = MISSING.format(
            version=html.escape(data.master.facts.version),
            directory=html.escape(str(web_ui.directory)),
            prefix=path_prefix(call.http),
        )
        return Reply(text.encode(), 404, HTML, (("cache-control", "no-store"),))
    found = web_ui.find(call.parameters["path"])
    if found is not None:
        return _file(call, found, TEN_MINUTES)
    return await _page(call, web_ui, web_ui.index, data)


@plain_route("HEAD", "/det/{path**}", access=SIGNED_IN, public=PAGE, knows_session=True)
async def head_ui_page(call: Call, web_ui: WebUi, data: PageData) -> Reply:
    """The headers of a file or of the page."""
    reply: Reply = await get_ui_page.handler(call, web_ui, data)
    return reply


def _file(call: Call, file: StaticFile, cache_control: str) -> Reply:
    coding = choose_coding(call.http.header("accept-encoding"), file.encoded)
    etag = f'"{file.digest}{"-" if coding else ""}{coding}"'
    headers = [("cache-control", cache_control), ("etag", etag), ("vary", "Accept-Encoding")]
    if is_current(call.http.header("if-none-match"), etag):
        return Reply(b"", NOT_MODIFIED, file.content_type, tuple(headers))
    if coding:
        headers.append(("content-encoding", coding))
    body = file.encoded[coding] if coding else file.content
    return Reply(body, 200, file.content_type, tuple(headers))


async def _page(call: Call, web_ui: WebUi, text: str, data: PageData) -> Reply:
    """A page of the build with the caller's data. Its ETag leaves the nonce out.

    An answer 304 has no policy, so that the stored page keeps the one with its own nonce.
    """
    boot = await boot_json(call, data)
    form, prefix = form_address(call), path_prefix(call.http)
    digest = hashlib.sha256(b"\0".join((text.encode(), boot, form.encode(), prefix.encode())))
    etag = f'W/"{digest.hexdigest()[:32]}"'
    headers = [
        ("cache-control", "private, no-cache"),
        ("etag", etag),
        ("vary", "Accept-Encoding, Authorization, Cookie"),
    ]
    if is_current(call.http.header("if-none-match"), etag):
        return Reply(b"", NOT_MODIFIED, HTML, tuple(headers))
    nonce = entropy.token()
    body = _template(text).filled(nonce, boot, form, prefix)
    if len(body) >= GZIP_FROM_BYTES and call.http.accepts_gzip:
        body = igzip.compress(body, 1)
        headers.append(("content-encoding", "gzip"))
    content_policy = policy(nonce, call.http.header("host"), web_ui.service_address)
    headers.append(("content-security-policy", content_policy))
    return Reply(body, 200, HTML, tuple(headers))


@lru_cache(maxsize=4)
def _template(index: str) -> Template:
    return Template(index)
