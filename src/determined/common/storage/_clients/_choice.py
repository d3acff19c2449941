"""Which client a process uses: the first one whose library it can import."""

from __future__ import annotations

import platform
import sys
from typing import TYPE_CHECKING, Dict, List, Type

from determined.common.storage._clients import _brought
from determined.common.storage._clients._azure import AzureClient
from determined.common.storage._clients._boto3 import Boto3Client
from determined.common.storage._clients._google import GoogleClient
from determined.common.storage._clients._interface import ObjectClient
from determined.common.storage._clients._obstore import ObstoreClient
from determined.errors import CheckpointStorageError

if TYPE_CHECKING:
    from determined.common.storage._options import Target

OWN: Dict[str, Type[ObjectClient]] = {"s3": Boto3Client, "gcs": GoogleClient, "azure": AzureClient}
LIBRARIES = {"s3": "boto3", "gcs": "google-cloud-storage", "azure": "azure-storage-blob"}
"""Of the clouds, by the type of the storage."""
INSTALL = "pip install 'determined-platform[storage]'"


def open_client(target: Target) -> ObjectClient:
    """Open a bucket by obstore, installed or brought along, or by the cloud's own library.

    Raises:
        CheckpointStorageError: there is no client, or the bucket cannot be opened.
    """
    failures: List[str] = []
    try:
        return _opened(ObstoreClient, target)
    except ImportError as error:
        failures.append(f"obstore: {error}")
    try:
        with _brought.importable():
            return _opened(ObstoreClient, target)
    except ImportError as error:
        failures.append(f"obstore beside the harness: {error}")
    try:
        return _opened(OWN[target.kind], target)
    except ImportError as error:
        failures.append(f"{LIBRARIES[target.kind]}: {error}")
    raise CheckpointStorageError(None, _no_client(target.kind, failures))


def _opened(kind: Type[ObjectClient], target: Target) -> ObjectClient:
    try:
        return kind(target)
    except ImportError:
        raise
    except Exception as error:
        fault = kind.fault_of(error)
        if fault is None:
            raise
        text = f"the checkpoint storage {target.address} cannot be opened: {fault.reason}"
        raise CheckpointStorageError(None, text) from error


def _no_client(kind: str, failures: List[str]) -> str:
    libc = " ".join(platform.libc_ver()).strip() or "another libc than glibc"
    here = f"Python {platform.python_version()}, {platform.machine()}, {libc}"
    if _brought.is_in_task():
        remedy = (
            f"add obstore or {LIBRARIES[kind]} to the task's image (pip install obstore), or use "
            "an image with Python 3.11 or newer and glibc, for which the cluster brings obstore"
        )
    else:
        remedy = f"install it for {sys.executable}: {INSTALL}"
    tried = "; ".join(failures)
    return f"checkpoint storage of type {kind} has no client here ({here}): {remedy}. {tried}"
