"""A small built web UI, as `tools/build_webui.py` leaves it."""

from __future__ import annotations

import gzip
from pathlib import Path

NOSCRIPT = '<noscript><a href="/det/login?form=1">Sign in without scripts</a></noscript>'
INDEX = """<!doctype html>
<html lang="en">
  <head>
    <meta charset="utf-8">
    <title>Determined</title>
    <style>body { margin: 0 }</style>
    <script type="module" crossorigin src="/det/assets/index-1a2b3c4d.js"></script>
    <link rel="stylesheet" crossorigin href="/det/assets/index-5e6f7a8b.css">
  </head>
  <body><div id="root"></div></body>
</html>
"""
LOGIN = INDEX.replace("<title>Determined", "<title>Sign in").replace("index-1a2b", "login-1a2b")
SCRIPT = b"document.getElementById('root').textContent = 'ready';\n" * 20
STYLE = b"body { color: black }\n"
ICON = b'<svg xmlns="http://www.w3.org/2000/svg"/>\n'
BROTLI = b"stands for the file as brotli compresses it"
"""The master sends it as it is: it never reads what it holds."""


def write_web_ui(directory: Path) -> Path:
    """Write it into a directory, which is returned."""
    assets = directory / "assets"
    assets.mkdir(parents=True)
    (directory / "index.html").write_text(INDEX)
    (directory / "login.html").write_text(LOGIN)
    (directory / "favicon.svg").write_bytes(ICON)
    script = assets / "index-1a2b3c4d.js"
    script.write_bytes(SCRIPT)
    script.with_name(f"{script.name}.gz").write_bytes(gzip.compress(SCRIPT))
    script.with_name(f"{script.name}.br").write_bytes(BROTLI)
    (assets / "index-5e6f7a8b.css").write_bytes(STYLE)
    (directory / ".hash").write_text("of the sources\n")
    (directory / "notes.secret").write_text("no known type\n")
    return directory
