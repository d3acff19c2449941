"""Paths of media: which files there are, and which are none."""

from __future__ import annotations

import pytest

from determined.media import Audio, Encoded, Histogram, Image, Table, Text
from determined.media._store import path_of
from determined_master.domain.checkpoints import media

VALUES = (
    Image([[0]]).encode(),
    Audio([0], 8000).encode(),
    Table(["a"], []).encode(),
    Histogram([1]).encode(),
    Text("x").encode(),
)


@pytest.mark.parametrize("value", VALUES, ids=[value.kind for value in VALUES])
@pytest.mark.parametrize("name", ["loss", "a/b", "..", "ü ö", "a=b%2F", "x" * 200])
def test_files_of_the_harness_are_read_back(value: Encoded, name: str) -> None:
    file = media.media_path(path_of("validation", name, 1500, value))
    assert file is not None
    assert (file.group, file.name, file.steps) == ("validation", name, 1500)
    assert (file.kind, file.extension) == (value.kind, value.extension)
    assert file.content_type.partition("/")[0] not in {"", "multipart"}


@pytest.mark.parametrize(
    "path",
    [
        "",
        "g/n",
        "../n/000000000001.text.txt",
        "g/../000000000001.text.txt",
        "g/./000000000001.text.txt",
        "g//000000000001.text.txt",
        "/g/n/000000000001.text.txt",
        "g/n/x/000000000001.text.txt",
        "g/n/000000000001.text.txt\n",
        "g/n/000000000001.text.txt\0",
        "g/n/1.text.txt",
        "g/n/99999999999999999999.text.txt",
        "g/n/-00000000001.text.txt",
        "g/n/000000000001.text.html",
        "g/n/000000000001.image.svg",
        "g/n/000000000001.image.html",
        "g/n/000000000001.text.json",
        "g/n/000000000001.script.js",
        "g/%2e%2e/000000000001.text.txt",
        "g/=2e/000000000001.text.txt",
        "g/=2/000000000001.text.txt",
        "g/ü/000000000001.text.txt",
        "g/" + "x" * 201 + "/000000000001.text.txt",
        "g/n/\u0660\u0660\u0660\u0660\u0660\u0660\u0660\u0660\u0660\u0660\u0660\u0661.text.txt",
    ],
)
def test_no_other_path_is_a_file(path: str) -> None:
    assert media.media_path(path) is None


def test_no_type_is_one_that_a_browser_runs() -> None:
    for content_type in media.CONTENT_TYPES.values():
        assert not any(
            part in content_type for part in ("html", "svg", "xml", "javascript", "css")
        )


def test_names_that_are_no_text_are_replaced() -> None:
    file = media.media_path("g/a=FFb=00/000000000001.text.txt")
    assert file is not None
    assert file.name == "a\ufffdb\ufffd"


def test_files_become_series_by_group_name_and_type() -> None:
    paths = [
        "b/n/000000000010.text.txt",
        "a/n/000000000300.image.png",
        "a/n/1000000000000.image.png",
        "a/n/000000000020.image.png",
        "a/n/000000000020.image.jpg",
        "a/n=2F/000000000020.image.jpg",
        "a/n/.hidden",
        "events.out.tfevents.1",
    ]
    assert media.media_series(paths) == [
        media.MediaSeries("a", "n", "image", "jpg", "a/n", [20]),
        media.MediaSeries("a", "n", "image", "png", "a/n", [20, 300, 10**12]),
        media.MediaSeries("a", "n/", "image", "jpg", "a/n=2F", [20]),
        media.MediaSeries("b", "n", "text", "txt", "b/n", [10]),
    ]
