"""What a script off the cluster reports, for its user to read."""

from __future__ import annotations

import logging
import sys

logger = logging.getLogger("determined.core")


def tell(text: str, *values: object) -> None:
    """Log a line; write it to stderr where the script has set up no logging."""
    if logger.hasHandlers():
        logger.info(text, *values)
    else:
        sys.stderr.write(f"determined: {text % values}\n")
