"""The login that needs no scripts: a plain form."""

from __future__ import annotations

import base64
import hashlib
import html
from urllib.parse import parse_qs, quote

from determined_master.api.access.auth import open_session, set_login_cookie
from determined_master.api.http.access import SIGNED_IN
from determined_master.api.http.middleware import is_foreign
from determined_master.api.http.prefix import path_prefix
from determined_master.api.http.routes import Call, Reply, plain_route
from determined_master.domain.errors import DetError
from determined_master.services.access.auth import Auth

MAX_FORM_BYTES = 10_000
FORM_ADDRESS = "/det/login?form=1"
"""Of the form, also where `/det/login` is a page with scripts."""
_STYLE = """
body { font: 16px/1.5 system-ui, sans-serif; margin: 0; color: #1b1f24; background: #f6f7f9; }
main { max-width: 20rem; margin: 12vh auto; padding: 2rem; background: #fff;
       border: 1px solid #d5d9e0; border-radius: 8px; }
h1 { font-size: 1.25rem; margin: 0 0 1rem; }
label { display: block; margin: 0 0 1rem; }
input { display: block; box-sizing: border-box; width: 100%; margin-top: .25rem; padding: .5rem;
        font: inherit; color: inherit; background: inherit; border: 1px solid #8b93a1;
        border-radius: 4px; }
button { width: 100%; padding: .5rem; font: inherit; color: #fff; background: #1a56b8; border: 0;
         border-radius: 4px; cursor: pointer; }
.error { color: #a4161a; }
@media (prefers-color-scheme: dark) {
  body { color: #e6e8eb; background: #14171b; }
  main { background: #1c2026; border-color: #333a44; }
  .error { color: #ff8a8a; }
}
"""
_HASH = base64.b64encode(hashlib.sha256(_STYLE.encode()).digest()).decode()
_HEADERS = (
    (
        "content-security-policy",
        f"default-src 'none'; style-src 'sha256-{_HASH}'; base-uri 'none'; frame-ancestors 'none'",
    ),
    ("cache-control", "no-store"),
    ("referrer-policy", "same-origin"),
)


def login_form(call: Call) -> Reply:
    """The form; `redirect` names the page that a person came from."""
    return _page(_form(call, "", ""))


def form_address(call: Call) -> str:
    """The address of the form that leads back to the same page."""
    target = login_target(call)
    address = path_prefix(call.http) + FORM_ADDRESS
    return address + (f"&redirect={quote(target, safe='/')}" if target else "")


@plain_route(
    "POST",
    "/det/login",
    access=SIGNED_IN,
    public="it gives the token, to browsers without scripts",
)
async def submit_login(call: Call, auth: Auth) -> Reply:
    """Sign in and lead back, or show the form again with the reason."""
    target = login_target(call)
    if is_foreign(call.http):
        text = "Another page sent this form. Sign in here:"
        return _page(_form(call, "", text), status=403)
    form = parse_qs(call.body[:MAX_FORM_BYTES].decode(errors="replace"), keep_blank_values=True)
    username = form.get("username", [""])[0]
    try:
        opened = await open_session(call, auth, username, form.get("password", [""])[0], False)
    except DetError as error:
        return _page(_form(call, username, error.text), status=401)
    set_login_cookie(call, opened)
    if target:
        return Reply(status=303, headers=(("location", _behind_proxy(call, target)), *_HEADERS))
    name = html.escape(opened.user.username)
    return _page(f"<h1>Signed in</h1><p>You are signed in as {name}.</p>")


def login_target(call: Call) -> str:
    """The page to return to: of this master only; empty for none."""
    target = parse_qs(call.http.query).get("redirect", [""])[0]
    is_own = target.startswith("/") and not target.startswith(("//", "/\\"))
    return target if is_own and target.isprintable() and target.isascii() else ""


def _behind_proxy(call: Call, target: str) -> str:
    """The address of a page of the master as the browser knows it."""
    prefix = path_prefix(call.http)
    return target if target.startswith(f"{prefix}/") else prefix + target


def _form(call: Call, username: str, fault: str) -> str:
    target = login_target(call)
    query = f"?redirect={quote(target, safe='/')}" if target else ""
    action = f"{path_prefix(call.http)}/det/login{query}"
    error = f'<p class="error" role="alert">{html.escape(fault)}</p>' if fault else ""
    return f"""<h1>Sign in to Determined</h1>{error}
<form method="post" action="{html.escape(action)}">
<label>User name <input name="username" value="{html.escape(username)}"
 autocomplete="username" required autofocus></label>
<label>Password <input name="password" type="password" autocomplete="current-password"></label>
<button>Sign in</button>
</form>"""


def _page(contents: str, status: int = 200) -> Reply:
    body = f"""<!doctype html>
<html lang="en"><head><meta charset="utf-8"><title>Sign in - Determined</title>
<meta name="viewport" content="width=device-width"><style>{_STYLE}</style></head>
<body><main>{contents}</main></body></html>
"""
    return Reply(body.encode(), status, "text/html; charset=utf-8", _HEADERS)
