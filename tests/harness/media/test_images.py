"""Images become files that a browser shows: PNG of arrays and lists, files keep their format."""

from __future__ import annotations

import io
import re
import struct
import zlib
from pathlib import Path
from typing import Any

import numpy
import pytest

from determined.media import MAX_IMAGE_BYTES, Image
from determined.media._images import MAX_PIXELS

PNG = b"\x89PNG\r\n\x1a\n"


def decoded(content: bytes) -> tuple[int, int, int, list[int]]:
    """Width, height, colour type and samples of a PNG as the encoder writes them."""
    assert content.startswith(PNG)
    at, chunks = len(PNG), {}
    while at < len(content):
        (length,) = struct.unpack_from(">I", content, at)
        name, body = content[at + 4 : at + 8], content[at + 8 : at + 8 + length]
        assert struct.unpack_from(">I", content, at + 8 + length) == (zlib.crc32(name + body),)
        chunks[name] = body
        at += 12 + length
    width, height, depth, colour = struct.unpack_from(">IIBB", chunks[b"IHDR"])
    assert depth == 8
    rows, size = zlib.decompress(chunks[b"IDAT"]), width * {0: 1, 4: 2, 2: 3, 6: 4}[colour]
    above, samples = [0] * size, []
    for start in range(0, len(rows), size + 1):
        assert rows[start] == 2
        above = [(a + b) & 255 for a, b in zip(rows[start + 1 : start + 1 + size], above)]
        samples += above
    return width, height, colour, samples


@pytest.mark.parametrize(
    ("data", "expected"),
    [
        ([[0, 128], [255, 300]], (2, 2, 0, [0, 128, 255, 255])),
        ([[0.0, 0.5], [1.0, -1.0]], (2, 2, 0, [0, 128, 255, 0])),
        ([[True, False]], (2, 1, 0, [255, 0])),
        ([[float("nan"), float("inf")]], (2, 1, 0, [0, 255])),
        ([[[7], [9]]], (2, 1, 0, [7, 9])),
        ([[[1, 2]]], (1, 1, 4, [1, 2])),
        ([[[1, 2, 3]], [[4, 5, 6]]], (1, 2, 2, [1, 2, 3, 4, 5, 6])),
        ([[[1, 2, 3, 4]]], (1, 1, 6, [1, 2, 3, 4])),
    ],
)
@pytest.mark.parametrize("make", [list, numpy.array])
def test_samples_become_a_png(make: Any, data: Any, expected: Any) -> None:
    encoded = Image(make(data)).encode()
    assert (encoded.kind, encoded.extension) == ("image", "png")
    assert decoded(encoded.content) == expected


@pytest.mark.parametrize(
    ("content", "extension"),
    [
        (PNG + b"rest", "png"),
        (b"\xff\xd8\xff\xe0rest", "jpg"),
        (b"GIF89arest", "gif"),
        (b"RIFF\x04\0\0\0WEBPVP8 ", "webp"),
    ],
)
def test_a_file_keeps_its_format(tmp_path: Path, content: bytes, extension: str) -> None:
    path = tmp_path / "picture.any"
    path.write_bytes(content)
    for data in (content, bytearray(content), path, str(path)):
        assert Image(data).encode() == ("image", extension, content)


class Picture:
    """As a picture of PIL."""

    def __init__(self, mode: str) -> None:
        self.mode = mode

    def convert(self, mode: str) -> Picture:
        return Picture(mode)

    def save(self, file: io.BytesIO, format: str) -> None:
        assert format == "PNG"
        file.write(PNG + self.mode.encode())


class Figure:
    """As a figure of matplotlib."""

    def savefig(self, file: io.BytesIO, format: str) -> None:
        file.write(PNG + format.encode())


@pytest.mark.parametrize(
    ("data", "rest"),
    [(Picture("RGBA"), b"RGBA"), (Picture("CMYK"), b"RGB"), (Figure(), b"png")],
)
def test_pictures_and_figures_are_saved_as_png(data: Any, rest: bytes) -> None:
    assert Image(data).encode().content == PNG + rest


@pytest.mark.parametrize(
    ("data", "text"),
    [
        ([], "shape (0,); it must be (height, width)"),
        ([1, 2], "shape (2,)"),
        ([[]], "shape (1, 0)"),
        ([[[1, 2, 3, 4, 5]]], "shape (1, 1, 5)"),
        (numpy.zeros((2, 2, 2, 3)), "shape (2, 2, 2, 3)"),
        ([[1, 2], [3]], "the rows of the image differ"),
        ([[1, 2], 3], "the rows of the image differ"),
        (b"<svg onload='alert(1)'>", "no PNG, JPEG, GIF or WebP; convert it to PNG"),
        (b"<html>", "no PNG"),
        (b"", "no PNG"),
        (PNG + bytes(MAX_IMAGE_BYTES), f"at most {MAX_IMAGE_BYTES} are allowed; make it smaller"),
        (numpy.broadcast_to(0, (1, MAX_PIXELS + 1)), f"at most {MAX_PIXELS} are allowed; make it"),
    ],
)
def test_other_shapes_and_files_are_refused_with_a_remedy(data: Any, text: str) -> None:
    with pytest.raises(ValueError, match=re.escape(text)):
        Image(data).encode()


@pytest.mark.parametrize("data", [None, 3, {"a": 1}, [["a"]], numpy.array([["a"]])])
def test_other_types_are_refused(data: Any) -> None:
    with pytest.raises(TypeError, match="an image"):
        Image(data).encode()


def test_a_file_is_not_read_beyond_its_bound(tmp_path: Path) -> None:
    path = tmp_path / "huge.png"
    with path.open("wb") as file:
        file.truncate(MAX_IMAGE_BYTES + 1)
    with pytest.raises(ValueError, match=f"huge.png has more than {MAX_IMAGE_BYTES} bytes"):
        Image(path).encode()
