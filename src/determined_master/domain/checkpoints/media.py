"""The files that `report_media` of a trial stores: their paths, types and bounds."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from urllib.parse import unquote_to_bytes

import msgspec

MAX_MEDIA_FILES = 10_000
"""Files of one trial that are listed; an attempt stores half of them at most."""
MAX_MEDIA_BYTES = 16 * 1024 * 1024
"""Of one file."""
CONTENT_TYPES: Mapping[tuple[str, str], str] = {
    ("image", "png"): "image/png",
    ("image", "jpg"): "image/jpeg",
    ("image", "gif"): "image/gif",
    ("image", "webp"): "image/webp",
    ("audio", "wav"): "audio/wav",
    ("audio", "mp3"): "audio/mpeg",
    ("audio", "ogg"): "audio/ogg",
    ("audio", "flac"): "audio/flac",
    ("table", "json"): "application/json",
    ("histogram", "json"): "application/json",
    ("text", "txt"): "text/plain; charset=utf-8",
}
"""By kind and extension; none of them runs code in a browser, whatever the content is."""
_ESCAPED = r"(?:[A-Za-z0-9_-]|=[0-9A-F]{2}){1,200}"
_PATH = re.compile(rf"({_ESCAPED})/({_ESCAPED})/([0-9]{{12,13}})\.([a-z]+)\.([a-z0-9]+)")


class MediaPath(msgspec.Struct, frozen=True):
    """A file of media, by the parts of its path."""

    group: str
    name: str
    steps: int
    kind: str
    extension: str

    @property
    def content_type(self) -> str:
        """The type that a browser is given."""
        return CONTENT_TYPES[self.kind, self.extension]


class MediaSeries(msgspec.Struct, frozen=True):
    """The files of one name and type, by ascending steps.

    Attributes:
        path: `GROUP/NAME` as in the paths of the files.
    """

    group: str
    name: str
    kind: str
    extension: str
    path: str
    steps: list[int]


def media_path(path: str) -> MediaPath | None:
    """The file at a path below a trial's directory of media; None for all other paths.

    No such path has `.` or `..` or an empty part.
    """
    match = _PATH.fullmatch(path)
    if match is None:
        return None
    group, name, steps, kind, extension = match.groups()
    if (kind, extension) not in CONTENT_TYPES:
        return None
    return MediaPath(_name_of(group), _name_of(name), int(steps), kind, extension)


def media_directory(cluster_id: str, experiment_id: int, trial_id: int) -> str:
    """The directory of a trial's media below the base of its storage."""
    return f"{cluster_id}/tensorboard/experiment/{experiment_id}/trial/{trial_id}/media"


def media_series(paths: Iterable[str]) -> list[MediaSeries]:
    """Paths as series, by group, name and type; other files are left out."""
    series: dict[tuple[str, str, str], MediaSeries] = {}
    for path in sorted(paths):
        file = media_path(path)
        if file is None:
            continue
        directory = path.rpartition("/")[0]
        key = (directory, file.kind, file.extension)
        if key not in series:
            series[key] = MediaSeries(
                file.group, file.name, file.kind, file.extension, directory, []
            )
        series[key].steps.append(file.steps)
    for one in series.values():
        one.steps.sort()
    return sorted(series.values(), key=lambda s: (s.group, s.name, s.kind, s.extension))


def _name_of(escaped: str) -> str:
    """As its user wrote it; bytes that are no UTF-8 become U+FFFD, and NUL too."""
    text = unquote_to_bytes(escaped.replace("=", "%")).decode("utf-8", errors="replace")
    return text.replace("\0", "\ufffd")
