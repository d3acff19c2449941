"""The import of Lightning by one of its two names, with a remedy in the error."""

from __future__ import annotations

import sys
from typing import Any

SUPPORTED = "2"
"""The major version."""


def _import() -> Any:
    """The name that the script has imported, so that its trainer knows our classes as its own."""
    if "pytorch_lightning" in sys.modules and "lightning.pytorch" not in sys.modules:
        return sys.modules["pytorch_lightning"]
    try:
        import lightning.pytorch as pl
    except ImportError:
        import pytorch_lightning as pl
    return pl


try:
    lightning = _import()
except ImportError as error:
    raise ImportError(
        "determined.lightning needs Lightning, which this Python does not have: install lightning "
        "or pytorch-lightning in the image or environment that the script runs in",
        name="lightning",
    ) from error

if lightning.__version__.split(".")[0] != SUPPORTED:
    raise ImportError(
        f"determined.lightning works with Lightning {SUPPORTED}, and this Python has "
        f"{lightning.__version__}: install lightning>={SUPPORTED},<{int(SUPPORTED) + 1}",
        name="lightning",
    )
