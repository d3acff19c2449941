"""Tables, texts, histograms and audio become files of bounded size."""

from __future__ import annotations

import io
import json
import math
import re
import wave
from pathlib import Path
from typing import Any

import numpy
import pytest

from determined.media import (
    MAX_AUDIO_BYTES,
    MAX_CELLS,
    MAX_TABLE_BYTES,
    MAX_TEXT_BYTES,
    Audio,
    Histogram,
    Table,
    Text,
)
from determined.media import _histograms as histograms


def content_of(value: Any) -> Any:
    return json.loads(value.encode().content)


def test_a_table_keeps_numbers_and_makes_the_rest_text() -> None:
    rows = [
        [1, 0.5, "<b>"],
        [None, math.nan, True],
        [numpy.int64(3), numpy.float32(0.5), numpy.ones(2)],
    ]
    assert content_of(Table(["a", "b", "c"], rows)) == {
        "columns": ["a", "b", "c"],
        "rows": [[1, 0.5, "<b>"], [None, "nan", True], [3, 0.5, "[1.0, 1.0]"]],
    }


def test_a_data_frame_becomes_a_table() -> None:
    class Frame(dict[str, Any]):
        columns = ("x", "y")

    table = Table.of_frame(Frame(x=numpy.array([1, 2]), y=["a", "b"]))
    assert content_of(table) == {"columns": ["x", "y"], "rows": [[1, "a"], [2, "b"]]}


@pytest.mark.parametrize(
    ("columns", "rows", "text"),
    [
        ([], [], "no columns; name at least one"),
        (["a"], [[1], [1, 2]], "row 1 of the table has 2 values, but there are 1 columns"),
        (["a"], [[1]] * (MAX_CELLS + 1), f"at most {MAX_CELLS} are allowed; report a sample"),
    ],
)
def test_a_wrong_table_is_refused(columns: Any, rows: Any, text: str) -> None:
    with pytest.raises(ValueError, match=text):
        Table(columns, rows)


def test_contents_are_bounded() -> None:
    with pytest.raises(
        ValueError, match=f"the table has .* at most {MAX_TABLE_BYTES} are allowed"
    ):
        Table(["a"], [["x" * MAX_TABLE_BYTES]]).encode()
    with pytest.raises(
        ValueError, match=f"the text has .* at most {MAX_TEXT_BYTES} .* shorten it"
    ):
        Text("x" * (MAX_TEXT_BYTES + 1)).encode()


def test_a_text_is_utf_8() -> None:
    assert Text("grün \ud800").encode() == ("text", "txt", "grün ?".encode())
    with pytest.raises(TypeError, match="Text takes a str, got int: 3"):
        Text(3)  # type: ignore[arg-type]


@pytest.mark.parametrize("make", [list, numpy.array])
def test_a_histogram_counts_values_in_bins_of_equal_width(make: Any) -> None:
    value = content_of(Histogram(make([0.0, 1.0, 1.5, 2.0, math.nan, math.inf]), bins=2))
    assert value == {"edges": [0.0, 1.0, 2.0], "counts": [1, 3], "notFinite": 2}


@pytest.mark.parametrize("make", [list, numpy.array])
@pytest.mark.parametrize(
    "values",
    [
        [3.0],
        [0.0, 0.0],
        [1e300, 1e300],
        [-1.7e308, 1.7e308],
        [1.7976931348623157e308, -1.7976931348623157e308, 0.0],
        [5e-324, 0.0],
        [1.0, 1.0000000000000002],
        [2**60, 2**60 + 1000],
    ],
)
def test_extreme_values_have_finite_ascending_edges(make: Any, values: Any) -> None:
    value = content_of(Histogram(make(values), bins=7))
    edges = value["edges"]
    assert sum(value["counts"]) == len(values)
    assert len(edges) == len(value["counts"]) + 1
    assert all(math.isfinite(edge) for edge in edges)
    assert all(low < high for low, high in zip(edges, edges[1:]))
    assert edges[0] <= min(values)
    assert max(values) <= edges[-1]


@pytest.mark.parametrize("make", [list, numpy.array])
def test_a_histogram_without_finite_values_is_empty(make: Any) -> None:
    value = content_of(Histogram(make([math.nan])))
    assert value == {"edges": [0.0, 1.0], "counts": [0], "notFinite": 1}


def test_lists_and_arrays_of_any_shape_make_the_same_histogram() -> None:
    values = [[0.25 * row + column for column in range(5)] for row in range(7)]
    assert content_of(Histogram(values)) == content_of(Histogram(numpy.array(values)))


@pytest.mark.parametrize("values", [[], numpy.array([])])
def test_a_histogram_of_nothing_is_refused(values: Any) -> None:
    with pytest.raises(ValueError, match="no values; give it at least one number"):
        Histogram(values)


@pytest.mark.parametrize("values", [["a"], "abc", [None], numpy.array(["a"])])
def test_a_histogram_of_other_things_is_refused(values: Any) -> None:
    with pytest.raises(TypeError, match="a histogram takes numbers"):
        Histogram(values)


@pytest.mark.parametrize("bins", [0, 513, 2.5, None])
def test_a_wrong_number_of_bins_is_refused(bins: Any) -> None:
    with pytest.raises(
        ValueError, match=f"bins is {bins}; it must be a whole number from 1 to 512"
    ):
        Histogram([1], bins=bins)


def test_too_many_values_of_a_histogram_are_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(histograms, "MAX_NUMBERS", 3)
    for values in ([1, 2, 3, 4], numpy.zeros(4)):
        with pytest.raises(ValueError, match="more than 3 values; give it a sample"):
            Histogram(values)


@pytest.mark.parametrize("make", [list, numpy.array])
@pytest.mark.parametrize(
    ("samples", "channels", "frames"),
    [
        ([0.0, 0.5, -1.0, 2.0], 1, [0, 16383, -32767, 32767]),
        ([0, 7, -40000], 1, [0, 7, -32768]),
        ([[1, 2], [3, 4]], 2, [1, 3, 2, 4]),
    ],
)
def test_samples_become_a_wav(make: Any, samples: Any, channels: int, frames: Any) -> None:
    encoded = Audio(make(samples), sample_rate=8000).encode()
    assert (encoded.kind, encoded.extension) == ("audio", "wav")
    with wave.open(io.BytesIO(encoded.content)) as file:
        assert (file.getnchannels(), file.getsampwidth(), file.getframerate()) == (
            channels,
            2,
            8000,
        )
        assert list(memoryview(file.readframes(100)).cast("h")) == frames


@pytest.mark.parametrize(
    ("content", "extension"),
    [
        (b"RIFF\0\0\0\0WAVEfmt ", "wav"),
        (b"OggS\0", "ogg"),
        (b"fLaC\0", "flac"),
        (b"ID3\4", "mp3"),
        (b"\xff\xfb\x90\0", "mp3"),
    ],
)
def test_an_audio_file_keeps_its_format(tmp_path: Path, content: bytes, extension: str) -> None:
    path = tmp_path / "sound"
    path.write_bytes(content)
    for data in (content, path):
        assert Audio(data).encode() == ("audio", extension, content)


@pytest.mark.parametrize(
    ("data", "rate", "text"),
    [
        ([0.5], None, "sample_rate is None; samples need it in Hz"),
        ([0.5], 0, "sample_rate is 0"),
        ([], 8000, "it must be of shape"),
        ([[1], [2], [3]], 8000, "the audio has 3 channels of 1 samples"),
        ([[1, 2], [3]], 8000, "as many samples in each channel"),
        (b"<html>", None, "no WAV, MP3, Ogg or FLAC; convert it to WAV"),
        (numpy.zeros(MAX_AUDIO_BYTES), 8000, f"at most {MAX_AUDIO_BYTES} are allowed"),
    ],
)
def test_wrong_audio_is_refused_with_a_remedy(data: Any, rate: Any, text: str) -> None:
    with pytest.raises(ValueError, match=re.escape(text)):
        Audio(data, rate).encode()


@pytest.mark.parametrize("data", [["a"], [[[1]]]])
def test_audio_of_other_things_is_refused(data: Any) -> None:
    with pytest.raises(TypeError, match="samples that are no numbers"):
        Audio(data, 8000).encode()
