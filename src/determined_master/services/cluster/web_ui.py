"""The files of the web UI, read once at the start of the master."""

from __future__ import annotations

import hashlib
import logging
from collections.abc import Iterator, Mapping
from pathlib import Path, PurePosixPath

import msgspec

log = logging.getLogger(__name__)

PACKAGED = Path(__file__).parents[2] / "webui"
"""Where the build puts the files, and where a wheel carries them."""
INDEX = "index.html"
LOGIN = "login.html"
"""The page of the sign-in alone, with half of the code; a build may lack it."""
CODINGS = {"br": ".br", "gzip": ".gz"}
"""Content codings, the best first, and the endings of the files that hold them."""
CONTENT_TYPES = {
    ".css": "text/css; charset=utf-8",
    ".gif": "image/gif",
    ".html": "text/html; charset=utf-8",
    ".ico": "image/x-icon",
    ".jpeg": "image/jpeg",
    ".jpg": "image/jpeg",
    ".js": "text/javascript; charset=utf-8",
    ".json": "application/json",
    ".map": "application/json",
    ".mjs": "text/javascript; charset=utf-8",
    ".png": "image/png",
    ".svg": "image/svg+xml",
    ".txt": "text/plain; charset=utf-8",
    ".wasm": "application/wasm",
    ".webmanifest": "application/manifest+json",
    ".webp": "image/webp",
    ".woff2": "font/woff2",
}
"""By the ending of a name; a file with another ending is not served."""


class StaticFile(msgspec.Struct, frozen=True):
    """One file, and the same compressed."""

    content: bytes
    content_type: str
    digest: str
    """Of the content: the base of its ETag."""
    encoded: Mapping[str, bytes] = {}
    """By content coding, the best first."""


class WebUi:
    """The files by their names below `/det/`; none where the web UI is not installed."""

    def __init__(
        self, root: str = "", service_address: str = "", logos: Mapping[str, str] | None = None
    ) -> None:
        """
        Args:
            root: setting `root`, a directory whose folder `webui` holds the files; where it holds
                none, those of the package are served.
            service_address: where pages of tasks are, which are shown in frames.
            logos: setting `ui_customization.logo_paths`: image files by names such as
                `dark_horizontal`.
        """
        self.directory = _directory(root)
        self.service_address = service_address
        self._logos = {name: _logo(Path(path)) for name, path in (logos or {}).items()}
        self._files = dict(_read(self.directory))
        self.index = self._page(INDEX)
        self.login = self._page(LOGIN) or self.index

    @property
    def is_installed(self) -> bool:
        """Whether there is anything to serve."""
        return bool(self.index)

    def find(self, name: str) -> StaticFile | None:
        """The file of a name such as `assets/index-1a2b.js`; None where there is none."""
        return self._files.get(name) if self.index else None

    def _page(self, name: str) -> str:
        """The text of a page, which is no file below `/det/`; empty where there is none."""
        found = self._files.pop(name, None)
        return found.content.decode() if found is not None else ""

    def find_logo(self, mode: str, orientation: str) -> StaticFile | None:
        """The cluster's own logo for a theme, `dark` or `light`, and a place; None without one."""
        return self._logos.get(f"{mode}_{orientation}")


def _logo(path: Path) -> StaticFile:
    content = path.read_bytes()
    content_type = CONTENT_TYPES.get(path.suffix.lower(), "application/octet-stream")
    return StaticFile(content, content_type, hashlib.sha256(content).hexdigest()[:32])


def _directory(root: str) -> Path:
    if root:
        chosen = Path(root) / "webui"
        if (chosen / INDEX).is_file():
            return chosen
        log.warning(
            "the setting root is %s, and %s is missing: the web UI of the package is served; "
            "remove the setting",
            root,
            chosen / INDEX,
        )
    return PACKAGED


def _read(directory: Path) -> Iterator[tuple[str, StaticFile]]:
    """Every file that may be served; links that lead out of the directory are left out."""
    real = directory.resolve()
    for path in sorted(directory.rglob("*")):
        name = PurePosixPath(path.relative_to(directory))
        content_type = CONTENT_TYPES.get(path.suffix)
        is_hidden = any(part.startswith(".") for part in name.parts)
        if content_type is None or is_hidden or not path.is_file():
            continue
        if path.resolve().is_relative_to(real):
            yield str(name), _file(path, content_type)


def _file(path: Path, content_type: str) -> StaticFile:
    content = path.read_bytes()
    encoded = {}
    for coding, ending in CODINGS.items():
        compressed = path.with_name(path.name + ending)
        if compressed.is_file() and not compressed.is_symlink():
            encoded[coding] = compressed.read_bytes()
    return StaticFile(content, content_type, hashlib.sha256(content).hexdigest()[:32], encoded)
