"""The import of Keras, with a remedy in the error."""

from __future__ import annotations

try:
    import keras as keras
except ImportError as error:
    raise ImportError(
        "determined.keras needs Keras 3, which this Python does not have: install keras and a "
        "back end (tensorflow, jax or torch, named by KERAS_BACKEND) in the image or environment "
        f"that the task runs in ({error})",
        name="keras",
    ) from error

SUPPORTED = "3"
"""The major version."""

if keras.__version__.split(".")[0] != SUPPORTED:
    raise ImportError(
        f"determined.keras works with Keras {SUPPORTED}, and this Python has {keras.__version__}: "
        f"install keras>={SUPPORTED}",
        name="keras",
    )
