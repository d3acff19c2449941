"""Audio: files of known formats, and samples, which become WAV."""

from __future__ import annotations

import array
import io
import os
import sys
import wave
from typing import Any, List, Optional

from determined.media._images import read_file
from determined.media._values import MAX_AUDIO_BYTES, Encoded, Media, as_list, checked_size

_REMEDY = "report a shorter part, or a lower sample rate"


class Audio(Media):
    """A sound.

    Args:
        data: one of: the path of a WAV, MP3, Ogg or FLAC file; the bytes of one; samples as a
            NumPy array, a tensor or lists, of shape (samples,) or (channels, samples) with 1 or 2
            channels. Floats are from -1 to 1, whole numbers are 16-bit; values outside are
            clipped.
        sample_rate: of samples, in Hz; files have their own.

    Raises:
        ValueError: samples come without a rate.
    """

    def __init__(self, data: Any, sample_rate: Optional[int] = None) -> None:
        self.data = data
        self.sample_rate = sample_rate
        is_file = isinstance(data, (str, os.PathLike, bytes, bytearray, memoryview))
        if not is_file and (not isinstance(sample_rate, int) or not 1 <= sample_rate <= 768_000):
            raise ValueError(
                f"sample_rate is {sample_rate!r}; samples need it in Hz, such as sample_rate=16000"
            )

    def encode(self) -> Encoded:
        """The file unchanged; samples become WAV with samples of 16 bits."""
        if isinstance(self.data, (str, os.PathLike)):
            content = read_file(self.data, MAX_AUDIO_BYTES, "the audio")
        elif isinstance(self.data, (bytes, bytearray, memoryview)):
            content = bytes(self.data)
        else:
            content = _wav_of(_channels_of(self.data), int(self.sample_rate or 0))
        extension = extension_of(content)
        if extension is None:
            raise ValueError(
                f"the audio starts with {content[:8]!r}, which is no WAV, MP3, Ogg or FLAC; "
                "convert it to WAV"
            )
        return Encoded(
            "audio", extension, checked_size("audio", content, MAX_AUDIO_BYTES, _REMEDY)
        )


def extension_of(content: bytes) -> Optional[str]:
    """Of an audio file, by its first bytes; None for other files."""
    if content[:4] == b"RIFF" and content[8:12] == b"WAVE":
        return "wav"
    if content.startswith(b"OggS"):
        return "ogg"
    if content.startswith(b"fLaC"):
        return "flac"
    is_frame = len(content) > 1 and content[0] == 0xFF and content[1] & 0xE6 == 0xE2
    return "mp3" if content.startswith(b"ID3") or is_frame else None


def _channels_of(data: Any) -> List[List[float]]:
    values = as_list(data)
    channels = values if isinstance(values, (list, tuple)) and _is_nested(values) else [values]
    for channel in channels:
        if not isinstance(channel, (list, tuple)) or len(channel) != len(channels[0]):
            raise ValueError("the audio must have as many samples in each channel")
        if _is_nested(channel) or not all(isinstance(v, (int, float)) for v in channel):
            raise TypeError("the audio has samples that are no numbers")
    if not 1 <= len(channels) <= 2 or not channels[0]:
        raise ValueError(
            f"the audio has {len(channels)} channels of {len(channels[0])} samples; it must be of "
            "shape (samples,) or (channels, samples) with 1 or 2 channels"
        )
    size = 2 * len(channels) * len(channels[0])
    if size > MAX_AUDIO_BYTES:
        raise ValueError(
            f"the audio has {size} bytes as WAV, at most {MAX_AUDIO_BYTES} are allowed; {_REMEDY}"
        )
    return [list(channel) for channel in channels]


def _is_nested(values: Any) -> bool:
    return bool(values) and isinstance(values[0], (list, tuple))


def _wav_of(channels: List[List[float]], sample_rate: int) -> bytes:
    scale = 32767 if any(isinstance(v, float) for channel in channels for v in channel) else 1
    frames = array.array("h", (_sample(v * scale) for frame in zip(*channels) for v in frame))
    if sys.byteorder == "big":
        frames.byteswap()
    file = io.BytesIO()
    with wave.open(file, "wb") as writer:
        writer.setnchannels(len(channels))
        writer.setsampwidth(2)
        writer.setframerate(sample_rate)
        writer.writeframes(frames.tobytes())
    return file.getvalue()


def _sample(value: float) -> int:
    return 0 if value != value else int(min(max(value, -32768), 32767))
