"""Images, tables, histograms, audio and text that a trial reports beside its metrics.

    from determined.media import Image, Table

    media = {"sample": Image(array), "errors": Table(columns, rows)}
    core_context.train.report_media(steps, media)

NumPy and PIL are accepted, and not required.
"""

from __future__ import annotations

from determined.media._audio import Audio
from determined.media._histograms import MAX_BINS, Histogram
from determined.media._images import Image
from determined.media._store import MAX_FILES, MAX_TOTAL_BYTES
from determined.media._values import (
    MAX_AUDIO_BYTES,
    MAX_CELLS,
    MAX_IMAGE_BYTES,
    MAX_TABLE_BYTES,
    MAX_TEXT_BYTES,
    Encoded,
    Media,
    Table,
    Text,
)

__all__ = [
    "MAX_AUDIO_BYTES",
    "MAX_BINS",
    "MAX_CELLS",
    "MAX_FILES",
    "MAX_IMAGE_BYTES",
    "MAX_TABLE_BYTES",
    "MAX_TEXT_BYTES",
    "MAX_TOTAL_BYTES",
    "Audio",
    "Encoded",
    "Histogram",
    "Image",
    "Media",
    "Table",
    "Text",
]
