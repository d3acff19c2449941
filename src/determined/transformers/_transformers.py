"""The import of transformers, with a remedy in the error."""

from __future__ import annotations

try:
    import transformers as transformers
except ImportError as error:
    raise ImportError(
        "determined.transformers needs transformers, which this Python does not have: install "
        "transformers and accelerate in the image or environment that the task runs in",
        name="transformers",
    ) from error

SUPPORTED = ("4", "5")
"""Major versions."""

if transformers.__version__.split(".")[0] not in SUPPORTED:
    raise ImportError(
        f"determined.transformers works with transformers {' and '.join(SUPPORTED)}, and this "
        f"Python has {transformers.__version__}: install one of these",
        name="transformers",
    )
