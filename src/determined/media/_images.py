"""Images: files of known formats, pictures of PIL, and arrays, which become PNG."""

from __future__ import annotations

import io
import os
import struct
import zlib
from typing import Any, List, NamedTuple, Optional, Tuple

from determined.media._values import MAX_IMAGE_BYTES, Encoded, Media, checked_size

MAX_PIXELS = 16 * 1024 * 1024
_REMEDY = "make it smaller or crop it"
_COLOURS = {1: 0, 2: 4, 3: 2, 4: 6}
"""PNG's colour type by the number of channels: grey, grey with alpha, RGB, RGBA."""


class Image(Media):
    """An image.

    Args:
        data: one of: the path of a PNG, JPEG, GIF or WebP file; the bytes of one; a picture of
            PIL; a figure of matplotlib; a NumPy array, a tensor or nested lists of shape
            (height, width) or (height, width, channels) with 1 to 4 channels (grey, grey and
            alpha, RGB, RGBA). A tensor of PyTorch of three dimensions is taken as
            (channels, height, width). Whole numbers are from 0 to 255, floats from 0 to 1;
            values outside are clipped.

    Raises:
        TypeError: the data is none of these.
    """

    def __init__(self, data: Any) -> None:
        self.data = data

    def encode(self) -> Encoded:
        """A file unchanged; other data as PNG."""
        content = _content_of(self.data)
        extension = extension_of(content)
        if extension is None:
            raise ValueError(
                f"the image starts with {content[:8]!r}, which is no PNG, JPEG, GIF or WebP; "
                "convert it to PNG"
            )
        return Encoded(
            "image", extension, checked_size("image", content, MAX_IMAGE_BYTES, _REMEDY)
        )


class Pixels(NamedTuple):
    """Samples of 8 bits, row by row."""

    width: int
    height: int
    channels: int
    samples: bytes


def extension_of(content: bytes) -> Optional[str]:
    """Of an image file, by its first bytes; None for other files."""
    if content.startswith(b"\x89PNG\r\n\x1a\n"):
        return "png"
    if content.startswith(b"\xff\xd8\xff"):
        return "jpg"
    if content.startswith((b"GIF87a", b"GIF89a")):
        return "gif"
    if content[:4] == b"RIFF" and content[8:12] == b"WEBP":
        return "webp"
    return None


def png_of(pixels: Pixels) -> bytes:
    """A PNG file, every row filtered by the difference to the one above."""
    size = pixels.width * pixels.channels
    rows = bytearray()
    above = bytes(size)
    for start in range(0, len(pixels.samples), size):
        row = pixels.samples[start : start + size]
        rows.append(2)  # the filter "up"
        rows += bytes((a - b) & 0xFF for a, b in zip(row, above))
        above = row
    header = struct.pack(
        ">IIBBBBB", pixels.width, pixels.height, 8, _COLOURS[pixels.channels], 0, 0, 0
    )
    chunks = ((b"IHDR", header), (b"IDAT", zlib.compress(bytes(rows), 6)), (b"IEND", b""))
    return b"\x89PNG\r\n\x1a\n" + b"".join(_chunk(name, body) for name, body in chunks)


def read_file(path: os.PathLike[str] | str, limit: int, what: str) -> bytes:
    """The bytes of a file, and no more than a file may have.

    Raises:
        OSError: it cannot be read. ValueError: it is larger than `limit` bytes.
    """
    with open(path, "rb") as file:
        content = file.read(limit + 1)
    if len(content) > limit:
        raise ValueError(f"{what} {os.fspath(path)} has more than {limit} bytes, the maximum")
    return content


def _content_of(data: Any) -> bytes:
    if isinstance(data, (bytes, bytearray, memoryview)):
        return bytes(data)
    if isinstance(data, (str, os.PathLike)):
        return read_file(data, MAX_IMAGE_BYTES, "the image")
    if hasattr(data, "savefig"):
        return _saved(data.savefig, format="png")
    if hasattr(data, "save") and hasattr(data, "mode"):
        picture = (
            data if data.mode in ("1", "L", "LA", "P", "RGB", "RGBA") else data.convert("RGB")
        )
        return _saved(picture.save, format="PNG")
    return png_of(_pixels_of(data))


def _saved(save: Any, **options: Any) -> bytes:
    file = io.BytesIO()
    save(file, **options)
    return file.getvalue()


def _pixels_of(data: Any) -> Pixels:
    if hasattr(data, "detach"):
        data = data.detach().cpu()
        data = data.permute(1, 2, 0) if data.ndim == 3 else data
        data = data.float().numpy() if data.is_floating_point() else data.numpy()
    if hasattr(data, "__array__"):
        return _pixels_of_array(data)
    if not isinstance(data, (list, tuple)):
        raise TypeError(
            f"an image cannot be made of {type(data).__name__}; give a path, bytes, a picture of "
            "PIL, a figure of matplotlib, an array, a tensor or nested lists"
        )
    return _pixels_of_lists(data)


def _pixels_of_array(data: Any) -> Pixels:
    """As `_pixels_of_lists`, without a Python object for each sample."""
    import numpy

    array = numpy.asarray(data)
    height, width, channels = _shape(tuple(array.shape))
    if array.dtype.kind not in "buif":
        raise TypeError(
            f"an image has samples of type {array.dtype}; give whole numbers or floats"
        )
    if array.dtype.kind == "b":
        array = array.astype("uint8") * 255
    elif array.dtype.kind == "f":
        array = numpy.nan_to_num(array, nan=0.0, posinf=1.0, neginf=0.0).clip(0, 1) * 255 + 0.5
    samples = array.clip(0, 255).astype("uint8").tobytes()
    return Pixels(width, height, channels, samples)


def _pixels_of_lists(data: Any) -> Pixels:
    height, width, channels = _shape(_shape_of_lists(data))
    flat: List[Any] = list(data)
    for dimension in (width, channels if isinstance(data[0][0], (list, tuple)) else 0):
        if dimension:
            _check_rows(flat, dimension)
            flat = [value for row in flat for value in row]
    if not all(isinstance(value, (bool, int, float)) for value in flat):
        raise TypeError("an image has samples that are no numbers; give whole numbers or floats")
    scale = 255 if any(isinstance(value, (bool, float)) for value in flat) else 1
    samples = bytes(_sample(value, scale) for value in flat)
    return Pixels(width, height, channels, samples)


def _sample(value: float, scale: int) -> int:
    if value != value:
        return 0
    return int(min(max(value * scale, 0), 255) + (0.5 if scale == 255 else 0))


def _shape_of_lists(data: Any) -> Tuple[int, ...]:
    sizes: List[int] = []
    while isinstance(data, (list, tuple)) and len(sizes) < 4:
        sizes.append(len(data))
        if not data:
            break
        data = data[0]
    return tuple(sizes)


def _check_rows(rows: List[Any], size: int) -> None:
    for row in rows:
        if not isinstance(row, (list, tuple)) or len(row) != size:
            raise ValueError(
                f"the rows of the image differ: one is {row!r:.60}, not {size} values"
            )


def _shape(shape: Tuple[int, ...]) -> Tuple[int, int, int]:
    sizes = (*shape, 1) if len(shape) == 2 else shape
    if len(sizes) != 3 or not 1 <= sizes[2] <= 4 or 0 in sizes:
        raise ValueError(
            f"an image has the shape {shape}; it must be (height, width) or "
            "(height, width, channels) with 1 to 4 channels"
        )
    if sizes[0] * sizes[1] > MAX_PIXELS:
        raise ValueError(
            f"the image has {sizes[0] * sizes[1]} pixels, at most {MAX_PIXELS} are allowed; "
            f"{_REMEDY}"
        )
    return sizes[0], sizes[1], sizes[2]


def _chunk(name: bytes, body: bytes) -> bytes:
    return struct.pack(">I", len(body)) + name + body + struct.pack(">I", zlib.crc32(name + body))
