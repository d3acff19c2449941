"""Errors that user code can catch or raise."""

from __future__ import annotations

from typing import Any, Dict, Optional, Type


class InvalidHP(Exception):
    """Raised to end a trial whose hyperparameters are invalid.

    A Core API context that it leaves reports the reason and ends the process with exit code 0.
    The trial completes and the search continues without it.
    """

    def __init__(self, msg: str = "the hyperparameters of this trial cannot be used") -> None:
        super().__init__(msg)
        self.msg = msg


class EnterpriseOnlyError(Exception):
    """The master lacks this feature, which another edition has."""


class InternalException(Exception):
    """An internal error of the harness."""

    def __init__(self, message: str) -> None:
        super().__init__(message)
        self.message = message


class InvalidExperimentException(BaseException):
    """The experiment cannot be trained as it is written."""


class InvalidDataTypeException(InvalidExperimentException):
    """A user function returned a value of the wrong type."""

    def __init__(self, typ: Type[Any], message: str) -> None:
        super().__init__(f"{message} (got {typ.__module__}.{typ.__qualname__})")


class InvalidConfigurationException(InvalidExperimentException):
    """The configuration is invalid."""

    def __init__(self, config: Dict[str, Any], message: str) -> None:
        super().__init__(f"{message} (in {config})")


class InvalidModelException(InvalidExperimentException):
    """The model cannot be trained as it is written."""


class InvalidCheckpointException(Exception):
    """The checkpoint cannot be loaded."""

    def __init__(self) -> None:
        super().__init__(
            "This loader cannot read the checkpoint's files; use the loader of the framework "
            "that wrote them."
        )


class StopLoadingImplementation(Exception):
    """Raised to stop loading a trial class early."""


class WorkerError(Exception):
    """A worker failed."""


class WorkerFinishedGracefully(Exception):
    """All workers finished."""


class SkipWorkloadException(Exception):
    """Skip this workload."""


class CheckpointNotFound(Exception):
    """The storage has no checkpoint with this UUID."""


class CheckpointStateException(Exception):
    """The state of the checkpoint does not allow this operation."""


class NoDirectStorageAccess(Exception):
    """This process cannot reach the checkpoint storage directly."""


class ProxiedDownloadFailed(Exception):
    """The download through the master failed."""


class MultipleDownloadsFailed(Exception):
    """The download failed both directly and through the master."""


class CheckpointCorrupted(Exception):
    """The files of a checkpoint differ from those that were stored."""


class CheckpointStorageError(OSError):
    """The checkpoint storage failed. The text names the place, the reason and a remedy.

    `errno` is that of the cause, or None.
    """

    def __init__(self, number: Optional[int], text: str) -> None:
        super().__init__(number, text)
        self.text = text

    def __str__(self) -> str:
        return self.text
