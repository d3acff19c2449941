"""The one page of the web UI: its template, its nonce and its content security policy."""

from __future__ import annotations

import html
import re
from urllib.parse import urlsplit

from determined_master.api.access.login_page import FORM_ADDRESS

NONCE = "__CSP_NONCE__"
"""Stands for the nonce; the build may write it, too."""
_BOOT = "__BOOT__"
_FORM = "__FORM__"
_PREFIX = "__PREFIX__"
_PLACES = re.compile(f"({NONCE}|{_BOOT}|{_FORM}|{_PREFIX})")
_OWN_FILE = re.compile(r"\b(src|href)=\"(?:\./|/det/)", re.IGNORECASE)
"""The address of a file of the build: relative to the page, or below `/det/`."""
_HEAD = re.compile(r"<head\b[^>]*>", re.IGNORECASE)
_BODY = re.compile(r"<body\b[^>]*>", re.IGNORECASE)
_ELEMENT = re.compile(r"<(script|style)\b(?![^>]*\bnonce=)", re.IGNORECASE)
_HOST = re.compile(r"(\*\.)?[A-Za-z0-9_.-]+(:\d+)?|\[[0-9A-Fa-f:.]+\](:\d+)?")
_IN_HEAD = f"""<meta name="csp-nonce" content="{NONCE}">
<script type="application/json" id="boot">{_BOOT}</script>"""
_IN_BODY = f"""<noscript><p>The web UI needs JavaScript.
<a href="{_FORM}">Sign in without it</a>.</p></noscript>"""


class Template:
    """The built `index.html` with the places that each answer fills."""

    def __init__(self, text: str) -> None:
        """
        Raises:
            ValueError: it has no head or no body.
        """
        text = _ELEMENT.sub(rf'<\1 nonce="{NONCE}"', text)
        text = _with(_HEAD, _IN_HEAD, text.replace(f'"{FORM_ADDRESS}"', f'"{_FORM}"'))
        text = _OWN_FILE.sub(rf'\1="{_PREFIX}/det/', text)
        if "<noscript" not in text:
            text = _with(_BODY, _IN_BODY, text)
        self._pieces = _PLACES.split(text)

    def filled(self, nonce: str, boot: bytes, form: str, prefix: str = "") -> bytes:
        """The page.

        Args:
            nonce: of this answer.
            boot: JSON, escaped for HTML.
            form: address of the login that needs no scripts.
            prefix: the path below which a proxy serves the master.
        """
        values = {
            NONCE: nonce,
            _BOOT: boot.decode(),
            _FORM: html.escape(form),
            _PREFIX: html.escape(prefix),
        }
        return "".join(values.get(piece, piece) for piece in self._pieces).encode()


def policy(nonce: str, host: str, service_address: str) -> str:
    """The content security policy of the page.

    Args:
        nonce: of this answer; elements that carry it may run.
        host: header `Host`. Some browsers do not count WebSockets of the same host as 'self'.
        service_address: where pages of tasks are, which are shown in frames.
    """
    sockets = f" ws://{host} wss://{host}" if _HOST.fullmatch(host) else ""
    name = host.rpartition(":")[0] if re.search(r":\d+$", host) else host
    frames = _frame_source(service_address.replace("{host}", name))
    return "; ".join(
        (
            "default-src 'self'",
            f"script-src 'self' 'nonce-{nonce}'",
            f"style-src 'self' 'nonce-{nonce}'",
            f"connect-src 'self'{sockets}",
            "img-src 'self' data: blob:",
            "worker-src 'self' blob:",
            f"frame-src 'self'{frames}",
            "form-action 'self'",
            "frame-ancestors 'none'",
            "object-src 'none'",
            "base-uri 'self'",
        )
    )


def _frame_source(address: str) -> str:
    """A source for frames, with a space before it; `{service}` stands for any first label."""
    parts = urlsplit(address)
    first, _, rest = parts.netloc.partition(".")
    host = f"*.{rest}" if "{service}" in first else parts.netloc
    return f" {parts.scheme}://{host}" if _HOST.fullmatch(host) else ""


def _with(opening: re.Pattern[str], contents: str, text: str) -> str:
    text, count = opening.subn(lambda found: f"{found[0]}\n{contents}", text, count=1)
    if not count:
        raise ValueError(f"index.html has no element {opening.pattern}: build the web UI again")
    return text
