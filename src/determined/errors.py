"""Errors that user code may meet or raise."""

from __future__ import annotations

from typing import Any, Dict, Optional, Type


class InvalidHP(Exception):
    """Raised to end a trial whose hyperparameters cannot be trained with.

    Leaving a Core API context, it reports the reason and ends the process with exit code 0: the
    trial completes, and the search goes on without it.
    """

    def __init__(self, msg: str = "the hyperparameters of this trial cannot be used") -> None:
        super().__init__(msg)
        self.msg = msg


class EnterpriseOnlyError(Exception):
    """The master lacks a feature of another edition."""


class InternalException(Exception):
    """The harness broke its own rules."""

    def __init__(self, message: str) -> None:
        super().__init__(message)
        self.message = message


class InvalidExperimentException(BaseException):
    """The experiment cannot be trained as it is written."""


class InvalidDataTypeException(InvalidExperimentException):
    """A function of the user's returned something of another type than it should."""

    def __init__(self, typ: Type[Any], message: str) -> None:
        super().__init__(f"{message} (got {typ.__module__}.{typ.__qualname__})")


class InvalidConfigurationException(InvalidExperimentException):
    """The configuration asks for something that cannot be done."""

    def __init__(self, config: Dict[str, Any], message: str) -> None:
        super().__init__(f"{message} (in {config})")


class InvalidModelException(InvalidExperimentException):
    """The model cannot be trained as it is written."""


class InvalidCheckpointException(Exception):
    """The checkpoint cannot be loaded."""

    def __init__(self) -> None:
        super().__init__(
            "The checkpoint's files are not those this loader reads; use the loader of the "
            "framework that wrote it."
        )


class StopLoadingImplementation(Exception):
    """Raised to end the loading of a trial class early."""


class WorkerError(Exception):
    """A rank ended with an error."""


class WorkerFinishedGracefully(Exception):
    """A rank ended as it should."""


class SkipWorkloadException(Exception):
    """A piece of work is to be left out."""


class CheckpointNotFound(Exception):
    """The storage holds no checkpoint of this uuid."""


class CheckpointStateException(Exception):
    """The checkpoint's state does not allow this."""


class NoDirectStorageAccess(Exception):
    """This process cannot reach the checkpoint storage itself."""


class ProxiedDownloadFailed(Exception):
    """The download through the master failed."""


class MultipleDownloadsFailed(Exception):
    """Neither the storage nor the master gave the files."""


class CheckpointCorrupted(Exception):
    """A checkpoint's files are not those that were stored."""


class CheckpointStorageError(OSError):
    """The checkpoint storage does not do what it should; the text tells where, why and what to do.

    `errno` is that of the cause, or None.
    """

    def __init__(self, number: Optional[int], text: str) -> None:
        super().__init__(number, text)
        self.text = text

    def __str__(self) -> str:
        return self.text
