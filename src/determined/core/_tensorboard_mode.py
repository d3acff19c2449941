"""Who brings TensorBoard's files to the storage."""

from __future__ import annotations

import enum


class TensorboardMode(enum.Enum):
    """AUTO: the chief writes its metrics and brings them there. MANUAL: the user's code does."""

    AUTO = "AUTO"
    MANUAL = "MANUAL"
