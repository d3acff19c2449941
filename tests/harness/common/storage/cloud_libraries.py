"""The parts of google-cloud-storage and azure-storage-blob that the harness calls, in memory.

Calls with arguments that the libraries do not have fail. The real ones were tried by hand
(docs/checkpoints.md).
"""

from __future__ import annotations

import importlib
import sys
import types
from collections.abc import Iterator
from typing import Any

import pytest

ANY_TIME: Any = None


class LibraryError(Exception):
    """Stands for the base of both libraries' exceptions, which have the status by two names."""

    def __init__(self, text: str, status: int) -> None:
        super().__init__(text)
        self.code = self.status_code = status


class Missing(LibraryError):
    def __init__(self, text: str) -> None:
        super().__init__(text, 404)


class Objects(dict[str, bytes]):
    """The objects of the one bucket."""

    status: int | None = None
    """That of every answer, instead of success."""

    def answer(self) -> Objects:
        if self.status is not None:
            raise LibraryError("refused", self.status)
        return self

    def found(self, name: str) -> bytes:
        if name not in self.answer():
            raise Missing(name)
        return self[name]


class Blob:
    """An object, with the methods of both libraries."""

    chunk_size: int | None = None

    def __init__(self, objects: Objects, name: str) -> None:
        self._objects, self.name = objects, name

    @property
    def size(self) -> int:
        return len(self._objects[self.name])

    def exists(self, *, timeout: Any = ANY_TIME, retry: Any = None) -> bool:
        return self.name in self._objects.answer()

    def upload_from_string(
        self, data: bytes, content_type: str, *, timeout: Any, retry: Any
    ) -> None:
        self._objects.answer()[self.name] = data

    def upload_from_file(
        self, file_obj: Any, *, size: int, content_type: str, timeout: Any, retry: Any
    ) -> None:
        self._objects.answer()[self.name] = file_obj.read(size)

    def download_as_bytes(
        self,
        *,
        start: int = 0,
        end: int | None = None,
        raw_download: bool,
        timeout: Any,
        retry: Any,
    ) -> bytes:
        return self._objects.found(self.name)[start : None if end is None else end + 1]

    def delete(self, *, timeout: Any, retry: Any) -> None:
        self._objects.found(self.name)
        del self._objects[self.name]


class GoogleBucket:
    def __init__(self, objects: Objects) -> None:
        self._objects = objects

    def blob(self, name: str) -> Blob:
        return Blob(self._objects, name)

    def list_blobs(self, *, prefix: str, timeout: Any, retry: Any) -> Iterator[Blob]:
        names = sorted(self._objects.answer())
        return iter([self.blob(name) for name in names if name.startswith(prefix)])


class Download:
    def __init__(self, content: bytes) -> None:
        self._content = content

    def readall(self) -> bytes:
        return self._content


class AzureContainer:
    def __init__(self, objects: Objects) -> None:
        self._objects = objects

    def upload_blob(
        self,
        name: str,
        data: Any,
        *,
        length: int | None = None,
        overwrite: bool,
        max_concurrency: int = 1,
    ) -> None:
        self._objects.answer()[name] = data if isinstance(data, bytes) else data.read(length)

    def download_blob(
        self, blob: str, *, offset: int | None = None, length: int | None = None
    ) -> Download:
        rest = self._objects.found(blob)[offset or 0 :]
        return Download(rest[:length])

    def list_blobs(self, name_starts_with: str | None) -> Iterator[Blob]:
        names = sorted(self._objects.answer())
        start = name_starts_with or ""
        return iter([self.get_blob_client(name) for name in names if name.startswith(start)])

    def delete_blob(self, blob: str) -> None:
        self._objects.found(blob)
        del self._objects[blob]

    def get_blob_client(self, blob: str) -> Blob:
        return Blob(self._objects, blob)


class Retry:
    def with_timeout(self, seconds: float) -> Retry:
        assert seconds > 0
        return self


def google_in_memory(monkeypatch: pytest.MonkeyPatch, status: int | None = None) -> Objects:
    """Replace Google's library."""
    objects = Objects()
    objects.status = status

    class Client:
        def __init__(self, project: str | None, credentials: Any) -> None:
            assert credentials is not None

        def bucket(self, name: str) -> GoogleBucket:
            return GoogleBucket(objects)

    errors = {"GoogleAPICallError": LibraryError, "GoogleAPIError": LibraryError}
    _replace(monkeypatch, "google.api_core.exceptions", **errors, NotFound=Missing)
    _replace(monkeypatch, "google.cloud.storage", Client=Client)
    _replace(monkeypatch, "google.cloud.storage.retry", DEFAULT_RETRY=Retry())
    return objects


def azure_in_memory(monkeypatch: pytest.MonkeyPatch, status: int | None = None) -> Objects:
    """Replace Azure's library."""
    objects = Objects()
    objects.status = status

    class BlobServiceClient:
        def __init__(self, account_url: str, credential: Any, **settings: Any) -> None:
            assert settings["retry_total"] >= 1

        def get_container_client(self, container: str) -> AzureContainer:
            return AzureContainer(objects)

    class ClientAuthenticationError(LibraryError):
        pass

    _replace(monkeypatch, "azure.storage.blob", BlobServiceClient=BlobServiceClient)
    _replace(
        monkeypatch,
        "azure.core.exceptions",
        AzureError=LibraryError,
        HttpResponseError=LibraryError,
        ClientAuthenticationError=ClientAuthenticationError,
        ResourceNotFoundError=Missing,
    )
    return objects


def _replace(monkeypatch: pytest.MonkeyPatch, name: str, **names: Any) -> None:
    """Replace a module, and the packages above it that are not installed."""
    module = types.ModuleType(name)
    module.__dict__.update(names)
    parent, _, last = name.rpartition(".")
    if parent:
        try:
            importlib.import_module(parent)
        except ImportError:
            _replace(monkeypatch, parent)
        monkeypatch.setattr(sys.modules[parent], last, module, raising=False)
    monkeypatch.setitem(sys.modules, name, module)
