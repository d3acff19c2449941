"""The web UI as the master serves it."""

from __future__ import annotations

import gzip
import json
import re
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import pytest
from tests.api.client import Answer, Client
from tests.api.conftest import token_of
from tests.api.master import PASSWORD, running_services
from tests.web_ui_files import BROTLI, ICON, INDEX, NOSCRIPT, SCRIPT, STYLE, write_web_ui

from determined_master.api.app import Api
from determined_master.api.table import all_routes
from determined_master.api.webui.index import Template
from determined_master.domain.access.rules import Caller
from determined_master.services.access.identities import Identities
from determined_master.services.access.passwords import Passwords
from determined_master.services.access.users import UserChange, Users
from determined_master.services.catalog import Services
from determined_master.services.cluster.web_ui import WebUi
from determined_master.settings.sections import LogoPaths, Proxy, UiCustomization
from determined_master.store.db import Address, Database

SCRIPT_AT = "/det/assets/index-1a2b3c4d.js"
STYLE_AT = "/det/assets/index-5e6f7a8b.css"
BOOT = re.compile(r'<script type="application/json" id="boot">(.*?)</script>', re.DOTALL)


@pytest.fixture
async def served(
    database: Address, pool: Database, passwords: Passwords, tmp_path: Path
) -> AsyncIterator[Services]:
    write_web_ui(tmp_path / "webui")
    (tmp_path / "webui" / "assets" / "out.js").symlink_to(Path(__file__))
    proxy = Proxy(address="https://{service}.tasks.example:8081")
    names = ("dark_horizontal", "dark_vertical", "light_horizontal", "light_vertical")
    for name in names:
        (tmp_path / f"{name}.svg").write_text(f"<svg><!-- {name} --></svg>")
    logos = LogoPaths(**{name: str(tmp_path / f"{name}.svg") for name in names})
    values = {
        "root": str(tmp_path),
        "proxy": proxy,
        "ui_customization": UiCustomization(logo_paths=logos),
    }
    async with running_services(database, pool, passwords, **values) as (made, _):
        yield made


@pytest.fixture
async def browser(served: Services) -> AsyncIterator[Client]:
    """Without a session."""
    api = Api(all_routes(), served, served[Identities])
    yield Client(api)
    api.close()


async def session(services: Services, username: str = "determined") -> dict[str, str]:
    return {"cookie": f"auth={await token_of(services, username)}"}


def boot_of(answer: Answer) -> dict[str, Any]:
    found = BOOT.search(answer.body.decode())
    assert found is not None
    parsed: dict[str, Any] = json.loads(found[1])
    return parsed


def policy_of(answer: Answer) -> dict[str, list[str]]:
    rules = [rule.split() for rule in answer.headers["content-security-policy"].split("; ")]
    return {name: sources for name, *sources in rules}


@pytest.mark.parametrize(
    "target",
    ["/det", "/det/", "/det/index.html", "/det/experiments/1/overview", "/det/a/b/c?x=y",
     "/det/login", "/det/login?redirect=/det/x", "/det/nothing.png", "/det/.hash",
     "/det/notes.secret", "/det/assets"],
)  # fmt: skip
async def test_every_address_that_is_no_file_gives_the_one_page(
    browser: Client, target: str
) -> None:
    answer = await browser("GET", target)
    text = answer.body.decode()
    assert (answer.status, answer.headers["content-type"]) == (200, "text/html; charset=utf-8")
    assert '<div id="root"></div>' in text
    assert answer.headers["cache-control"] == "private, no-cache"
    assert "/det/login?form=1" in text


@pytest.mark.parametrize(
    "path",
    ["../index.html", "..%2Findex.html", "%2e%2e/%2e%2e/etc/passwd", "%2Fetc%2Fpasswd", "out.js",
     "../.hash", "index-1a2b3c4d.js.br", "index-1a2b3c4d.js/", "%00", "", "gone-00000000.js"],
)  # fmt: skip
async def test_no_path_leads_to_another_file(browser: Client, path: str) -> None:
    answer = await browser("GET", f"/det/assets/{path}")
    assert answer.status == 404
    assert "immutable" not in answer.headers.get("cache-control", "")


async def test_assets_never_change_and_other_files_may(browser: Client) -> None:
    script, style = await browser("GET", SCRIPT_AT), await browser("GET", STYLE_AT)
    assert (script.body, style.body) == (SCRIPT, STYLE)
    assert script.headers["content-type"] == "text/javascript; charset=utf-8"
    assert style.headers["content-type"] == "text/css; charset=utf-8"
    assert script.headers["x-content-type-options"] == "nosniff"
    for answer in (script, style):
        assert answer.headers["cache-control"] == "public, max-age=31536000, immutable"
        assert answer.headers["vary"] == "Accept-Encoding"
        assert "content-encoding" not in answer.headers
    icon = await browser("GET", "/det/favicon.svg")
    assert (icon.body, icon.headers["content-type"]) == (ICON, "image/svg+xml")
    assert icon.headers["cache-control"] == "public, max-age=600"


@pytest.mark.parametrize(
    ("accepted", "coding"),
    [("gzip, deflate, br, zstd", "br"), ("gzip", "gzip"), ("gzip;q=1.0, br;q=0.1", "gzip"),
     ("br;q=0, gzip", "gzip"), ("*", "br"), ("*;q=0", ""), ("identity", ""), ("", ""),
     ("BR", "br"), ("br;q=x", "")],
)  # fmt: skip
async def test_a_file_is_sent_as_the_client_reads_it_best(
    browser: Client, accepted: str, coding: str
) -> None:
    answer = await browser("GET", SCRIPT_AT, headers={"accept-encoding": accepted})
    assert answer.headers.get("content-encoding", "") == coding
    expected = {"br": BROTLI, "gzip": gzip.compress(SCRIPT), "": SCRIPT}
    if coding == "gzip":
        assert gzip.decompress(answer.body) == SCRIPT
    else:
        assert answer.body == expected[coding]


async def test_a_file_without_compressed_forms_is_sent_as_it_is(browser: Client) -> None:
    answer = await browser("GET", STYLE_AT, headers={"accept-encoding": "br, gzip"})
    assert (answer.body, "content-encoding" in answer.headers) == (STYLE, False)


@pytest.mark.parametrize("target", [SCRIPT_AT, "/det/favicon.svg", "/det/", "/det/login"])
async def test_a_client_that_has_the_newest_version_gets_none(
    browser: Client, target: str
) -> None:
    first = await browser("GET", target)
    etag = first.headers["etag"]
    for known in (etag, f'"x", {etag}', "*"):
        again = await browser("GET", target, headers={"if-none-match": known})
        assert (again.status, again.body, again.headers["etag"]) == (304, b"", etag)
        assert again.headers["cache-control"] == first.headers["cache-control"]
        # The stored page keeps its own nonce.
        assert "content-security-policy" not in again.headers
        assert "content-length" not in again.headers
    other = await browser("GET", target, headers={"if-none-match": '"x"'})
    assert other.status == 200


async def test_each_coding_is_a_version_of_its_own(browser: Client) -> None:
    plain = await browser("GET", SCRIPT_AT)
    known = {"if-none-match": plain.headers["etag"], "accept-encoding": "br"}
    assert (await browser("GET", SCRIPT_AT, headers=known)).status == 200


@pytest.mark.parametrize("target", [SCRIPT_AT, "/det/", "/det/login", "/det/login?form=1"])
async def test_head_has_the_headers_without_the_body(browser: Client, target: str) -> None:
    whole, head = await browser("GET", target), await browser("HEAD", target)
    varying = {"content-security-policy"}
    assert (head.status, head.body) == (200, b"")
    assert {k: v for k, v in head.headers.items() if k not in varying} == {
        k: v for k, v in whole.headers.items() if k not in varying
    }
    assert head.headers["content-length"] == str(len(whole.body))


async def test_a_part_of_a_file_is_not_to_be_had(browser: Client) -> None:
    answer = await browser("GET", SCRIPT_AT, headers={"range": "bytes=0-3"})
    assert (answer.status, answer.body) == (200, SCRIPT)


async def test_only_scripts_of_the_page_run(browser: Client) -> None:
    answer = await browser("GET", "/det/", headers={"host": "det.example:8080"})
    rules = policy_of(answer)
    nonce = rules["script-src"][1]
    assert re.fullmatch(r"'nonce-[\w-]{43}'", nonce)
    assert rules == {
        "default-src": ["'self'"],
        "script-src": ["'self'", nonce],
        "style-src": ["'self'", nonce],
        "connect-src": ["'self'", "ws://det.example:8080", "wss://det.example:8080"],
        "img-src": ["'self'", "data:", "blob:"],
        "worker-src": ["'self'", "blob:"],
        "frame-src": ["'self'", "https://*.tasks.example:8081"],
        "form-action": ["'self'"],
        "frame-ancestors": ["'none'"],
        "object-src": ["'none'"],
        "base-uri": ["'self'"],
    }
    assert answer.headers["referrer-policy"] == "same-origin"
    assert answer.headers["x-content-type-options"] == "nosniff"
    value = nonce.strip("'").removeprefix("nonce-")
    text = answer.body.decode()
    assert f'<meta name="csp-nonce" content="{value}">' in text
    assert f'<style nonce="{value}">' in text
    assert f'<script nonce="{value}" type="module"' in text


async def test_the_sign_in_is_a_page_of_its_own(browser: Client, served: Services) -> None:
    page = (await browser("GET", "/det/login?redirect=/det/x")).body.decode()
    assert "<title>Sign in</title>" in page
    assert "login-1a2b3c4d.js" in page
    assert (await browser("GET", "/det/login.html")).body.decode().count("<title>Determined") == 1
    served[WebUi].login = served[WebUi].index  # as of a build without it
    page = (await browser("GET", "/det/login")).body.decode()
    assert "<title>Determined</title>" in page


async def test_each_answer_has_a_nonce_of_its_own(browser: Client) -> None:
    nonces = {policy_of(await browser("GET", "/det/"))["script-src"][1] for _ in range(3)}
    assert len(nonces) == 3


@pytest.mark.parametrize("host", ["a b", "x; script-src *", "a,b", "<b>", ""])
async def test_a_host_that_is_none_opens_nothing(browser: Client, host: str) -> None:
    answer = await browser("GET", "/det/", headers={"host": host})
    assert policy_of(answer)["connect-src"] == ["'self'"]
    assert len(policy_of(answer)["script-src"]) == 2


async def test_the_page_brings_what_the_api_says(browser: Client, served: Services) -> None:
    headers = await session(served)
    own = {**headers, "origin": "http://test", "content-type": "application/json"}
    setting = {"settings": [{"key": "theme", "storagePath": "settings", "value": '"dark"'}]}
    assert (await browser("POST", "/api/v1/users/setting", setting, headers=own)).status == 200
    boot = boot_of(await browser("GET", "/det/projects/1", headers=headers))
    assert boot == {
        "master": (await browser("GET", "/api/v1/master")).json(),
        "user": (await browser("GET", "/api/v1/me", headers=headers)).json()["user"],
        "permissions": (
            await browser("GET", "/api/v1/permissions/summary", headers=headers)
        ).json(),
        "settings": (await browser("GET", "/api/v1/users/setting", headers=headers)).json()[
            "settings"
        ],
        "workspaces": (await browser("GET", "/api/v1/workspaces", headers=headers)).json()[
            "workspaces"
        ],
        "users": (await browser("GET", "/api/v1/users", headers=headers)).json()["users"],
        "project": (await browser("GET", "/api/v1/projects/1", headers=headers)).json()["project"],
    }
    assert boot["workspaces"]
    assert boot["users"]
    assert setting["settings"][0]["value"] in str(boot["settings"])


@pytest.mark.parametrize(
    "address", ["projects/999", "projects/0", "projects/01", "projects/1x", "projects/9999999999"]
)
async def test_an_address_of_no_project_brings_none(
    browser: Client, served: Services, address: str
) -> None:
    boot = boot_of(await browser("GET", f"/det/{address}", headers=await session(served)))
    assert "project" not in boot
    assert boot["users"]


async def test_many_users_are_asked_for(
    browser: Client, served: Services, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("determined_master.api.webui.boot.MAX_USERS", 1)
    boot = boot_of(await browser("GET", "/det/", headers=await session(served)))
    assert "users" not in boot
    assert boot["user"]


async def test_a_bearer_token_is_a_session_too(browser: Client, served: Services) -> None:
    token = await token_of(served, "determined")
    answer = await browser("GET", "/det/", headers={"authorization": f"Bearer {token}"})
    assert boot_of(answer)["user"]["username"] == "determined"


@pytest.mark.parametrize(
    "headers",
    [{}, {"cookie": "auth=wrong"}, {"cookie": "auth="}, {"authorization": "Bearer wrong"},
     {"authorization": "Basic eA=="}, {"grpc-metadata-x-allocation-token": "Bearer wrong"}],
)  # fmt: skip
async def test_without_a_valid_session_the_page_knows_the_master_only(
    browser: Client, headers: dict[str, str]
) -> None:
    answer = await browser("GET", "/det/", headers=headers)
    assert answer.status == 200
    assert boot_of(answer) == {"master": (await browser("GET", "/api/v1/master")).json()}


class DatabaseAway:
    """An `Authenticator` that cannot ask."""

    async def authenticate(self, token: str) -> Caller | None:
        raise ConnectionRefusedError("the database is away")


async def test_the_page_comes_while_the_database_is_away(served: Services) -> None:
    api = Api(all_routes(), served, DatabaseAway())
    answer = await Client(api, "any")("GET", "/det/")
    api.close()
    assert (answer.status, list(boot_of(answer))) == (200, ["master"])


async def test_a_deactivated_user_is_nobody(browser: Client, served: Services) -> None:
    headers = await session(served)
    admin = await served[Identities].authenticate(await token_of(served, "admin"))
    assert admin is not None
    await served[Users].patch(admin, 2, UserChange(active=False))
    assert list(boot_of(await browser("GET", "/det/", headers=headers))) == ["master"]


async def test_no_token_is_ever_in_the_page(browser: Client, served: Services) -> None:
    headers = await session(served, "admin")
    answer = await browser("GET", "/det/", headers=headers)
    token = headers["cookie"].removeprefix("auth=")
    sent = answer.body.decode() + str(answer.headers)
    assert token not in sent
    assert PASSWORD not in sent
    assert not re.search(r'"[^"]*(token|password|secret)[^"]*":', BOOT.search(sent)[1], re.I)


async def test_names_of_users_are_never_markup(browser: Client, served: Services) -> None:
    headers = await session(served)
    name = '</script><b>&\u2028" __CSP_NONCE__ __FORM__'
    admin = await served[Identities].authenticate(await token_of(served, "admin"))
    assert admin is not None
    await served[Users].patch(admin, 2, UserChange(display_name=name))
    answer = await browser("GET", "/det/", headers=headers)
    assert boot_of(answer)["user"]["displayName"] == name
    raw = BOOT.search(answer.body.decode())[1]
    assert not set("<>&\u2028\u2029") & set(raw)


async def test_settings_too_long_for_the_page_are_asked_for(
    browser: Client, served: Services
) -> None:
    headers = await session(served)
    own = {**headers, "origin": "http://test", "content-type": "application/json"}
    setting = {"settings": [{"key": "k", "storagePath": "p", "value": f'"{"x" * 70_000}"'}]}
    assert (await browser("POST", "/api/v1/users/setting", setting, headers=own)).status == 200
    boot = boot_of(await browser("GET", "/det/", headers=headers))
    assert set(boot) == {"master", "user", "permissions", "workspaces", "users"}


async def test_a_long_page_is_compressed(browser: Client, served: Services) -> None:
    headers = await session(served)
    own = {**headers, "origin": "http://test", "content-type": "application/json"}
    setting = {"settings": [{"key": "k", "storagePath": "p", "value": f'"{"x" * 9_000}"'}]}
    assert (await browser("POST", "/api/v1/users/setting", setting, headers=own)).status == 200
    answer = await browser("GET", "/det/", headers={**headers, "accept-encoding": "gzip"})
    assert answer.headers["content-encoding"] == "gzip"
    assert b"x" * 9_000 in gzip.decompress(answer.body)
    assert len(answer.body) < 4_000


async def test_the_page_of_a_user_is_another_version(browser: Client, served: Services) -> None:
    nobody = await browser("GET", "/det/")
    somebody = await browser("GET", "/det/", headers=await session(served))
    assert nobody.headers["etag"] != somebody.headers["etag"]
    assert "Cookie" in somebody.headers["vary"]


async def test_the_form_without_scripts_is_still_to_be_had(browser: Client) -> None:
    page = await browser("GET", "/det/login?redirect=/proxy/x/%3Fa%3Db")
    link = re.search(r'<noscript>.*?href="([^"]*)"', page.body.decode(), re.DOTALL)[1]
    assert link == "/det/login?form=1&amp;redirect=/proxy/x/%3Fa%3Db"
    form = await browser("GET", link.replace("&amp;", "&"))
    text = form.body.decode()
    assert '<form method="post" action="/det/login?redirect=/proxy/x/%3Fa%3Db">' in text
    assert "<script" not in text
    assert "script-src" not in form.headers["content-security-policy"]
    evil = await browser("GET", "/det/login?redirect=//evil.example")
    assert "evil.example" not in evil.body.decode()


async def test_a_page_with_its_own_link_to_the_form_gets_no_second_one() -> None:
    text = INDEX.replace("<body>", f"<body>{NOSCRIPT}")
    page = Template(text).filled("n", b"{}", "/det/login?form=1&redirect=/x").decode()
    assert page.count("<noscript>") == 1
    assert 'href="/det/login?form=1&amp;redirect=/x"' in page


@pytest.mark.parametrize("text", ["", "<html><head></head></html>", "<p>x"])
def test_a_file_that_is_no_page_is_an_error(text: str) -> None:
    with pytest.raises(ValueError, match="build the web UI again"):
        Template(text)


async def test_a_post_signs_in_by_the_form(browser: Client) -> None:
    kind = {"content-type": "application/x-www-form-urlencoded"}
    body = f"username=determined&password={PASSWORD}".encode()
    answer = await browser("POST", "/det/login?redirect=/det/x", body, headers=kind)
    assert (answer.status, answer.headers["location"]) == (303, "/det/x")


@pytest.mark.parametrize("target", ["/det", "/det/", "/det/experiments/1/overview"])
async def test_where_the_web_ui_is_missing_each_address_says_how_to_get_it(
    anonymous: Client, target: str
) -> None:
    answer = await anonymous("GET", target)
    text = answer.body.decode()
    assert (answer.status, answer.headers["content-type"]) == (404, "text/html; charset=utf-8")
    assert "make webui" in text
    assert "/nonexistent/webui" in text
    assert answer.headers["cache-control"] == "no-store"
    assert (await anonymous("GET", SCRIPT_AT)).status == 404
    assert "<form" in (await anonymous("GET", "/det/login")).body.decode()


async def test_behind_a_proxy_all_addresses_have_its_path(browser: Client) -> None:
    behind = {"x-forwarded-prefix": "/ml/det.x/"}
    answer = await browser("GET", "/det/experiments/1", headers=behind)
    text = answer.body.decode()
    assert 'src="/ml/det.x/det/assets/index-1a2b3c4d.js"' in text
    assert 'href="/ml/det.x/det/assets/index-5e6f7a8b.css"' in text
    assert 'href="/ml/det.x/det/login?form=1"' in text
    assert answer.headers["etag"] != (await browser("GET", "/det/experiments/1")).headers["etag"]
    root = await browser("GET", "/", headers=behind)
    assert (root.status, root.headers["location"]) == (301, "/ml/det.x/det")
    form = (await browser("GET", "/det/login?form=1&redirect=/det/x", headers=behind)).body
    assert b'action="/ml/det.x/det/login?redirect=/det/x"' in form


@pytest.mark.parametrize(
    "prefix",
    ["//evil.example", "/a//b", "https://evil.example", "/a\"><script>", "/..", "/a/../b", "/./a",
     "a", "/a?b", "/" + "x" * 300, ""],
)  # fmt: skip
async def test_a_prefix_that_is_no_path_is_ignored(browser: Client, prefix: str) -> None:
    headers = {"x-forwarded-prefix": prefix}
    answer = await browser("GET", "/det/", headers=headers)
    assert 'src="/det/assets/index-1a2b3c4d.js"' in answer.body.decode()
    assert (await browser("GET", "/", headers=headers)).headers["location"] == "/det"


async def test_a_page_whose_files_are_relative_finds_them(browser: Client) -> None:
    page = Template('<head></head><body><script src="./assets/a.js"></script></body>')
    assert b'src="/det/assets/a.js"' in page.filled("n", b"{}", "/det/login?form=1")
    assert b'src="/p/det/assets/a.js"' in page.filled("n", b"{}", "/det/login?form=1", "/p")


@pytest.mark.parametrize("mode", ["light", "dark"])
@pytest.mark.parametrize("orientation", ["horizontal", "vertical"])
async def test_the_clusters_own_logo_is_served(
    browser: Client, mode: str, orientation: str
) -> None:
    path = f"/det/customer-assets/logo?orientation={orientation}&mode={mode}"
    answer = await browser("GET", path)
    assert (answer.status, answer.headers["content-type"]) == (200, "image/svg+xml")
    assert f"{mode}_{orientation}" in answer.body.decode()
    assert answer.headers["content-security-policy"] == "default-src 'none'; sandbox"
    known = {"if-none-match": answer.headers["etag"]}
    assert (await browser("GET", path, headers=known)).status == 304


async def test_a_logo_that_is_none_is_refused(browser: Client) -> None:
    answer = await browser("GET", "/det/customer-assets/logo?mode=pink")
    assert answer.status == 400
    assert "mode is 'pink'" in answer.body.decode()
