"""Objects of S3 by boto3."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Dict, Iterator, Optional, Sequence

from determined.common.storage._clients._interface import (
    DENIED,
    PART_BYTES,
    PARTS_AT_ONCE,
    SERVICE,
    Fault,
    ObjectClient,
    PieceFile,
    attempts_in,
    kind_of_status,
)

if TYPE_CHECKING:
    from determined.common.storage._options import Target

_CONNECTIONS = 64
_MAX_PARTS = 9000
_MISSING = ("NoSuchKey", "404", "NotFound")


class Boto3Client(ObjectClient):
    """S3, and services like it."""

    def __init__(self, target: Target) -> None:
        import boto3

        options = target.options
        arguments: Dict[str, Any] = {"region_name": options.get("region")}
        if "endpoint" in options:
            arguments["endpoint_url"] = options["endpoint"]
        if "access_key_id" in options:
            arguments["aws_access_key_id"] = options["access_key_id"]
            arguments["aws_secret_access_key"] = options["secret_access_key"]
        self._bucket = target.name
        self._client: Any = boto3.Session().client("s3", config=_settings(target), **arguments)

    def put(self, key: str, content: bytes) -> None:
        self._client.put_object(Bucket=self._bucket, Key=key, Body=content)

    def put_pieces(self, key: str, pieces: Iterator[bytes], size: int) -> None:
        from boto3.s3.transfer import TransferConfig

        part = max(PART_BYTES, -(-size // _MAX_PARTS))
        transfer = TransferConfig(
            multipart_threshold=part, multipart_chunksize=part, max_concurrency=PARTS_AT_ONCE
        )
        self._client.upload_fileobj(PieceFile(pieces), self._bucket, key, Config=transfer)

    def get(self, key: str) -> Any:
        return self._read(key)

    def get_range(self, key: str, start: int, length: int) -> Any:
        return self._read(key, Range=f"bytes={start}-{start + length - 1}")

    def has(self, key: str) -> bool:
        from botocore.exceptions import ClientError

        try:
            self._client.head_object(Bucket=self._bucket, Key=key)
        except ClientError as error:
            if _code(error) in _MISSING:
                return False
            raise
        return True

    def sizes_below(self, prefix: str) -> Dict[str, int]:
        pages = self._client.get_paginator("list_objects_v2")
        below = f"{prefix}/" if prefix else ""
        return {
            item["Key"][len(below) :]: item["Size"]
            for page in pages.paginate(Bucket=self._bucket, Prefix=below)
            for item in page.get("Contents", ())
        }

    def delete(self, keys: Sequence[str]) -> None:
        from botocore.exceptions import ClientError

        order = {"Objects": [{"Key": key} for key in keys], "Quiet": True}
        answer = self._client.delete_objects(Bucket=self._bucket, Delete=order)
        failures = [e for e in answer.get("Errors", ()) if e.get("Code") not in _MISSING]
        if failures:
            raise ClientError({"Error": failures[0]}, "DeleteObjects")

    @staticmethod
    def fault_of(error: Exception) -> Optional[Fault]:
        from boto3.exceptions import Boto3Error
        from botocore.exceptions import BotoCoreError, ClientError, NoCredentialsError

        if isinstance(error, Boto3Error) and isinstance(error.__context__, ClientError):
            error = error.__context__  # S3UploadFailedError
        if isinstance(error, ClientError):
            status = error.response.get("ResponseMetadata", {}).get("HTTPStatusCode")
            text = str(error.response.get("Error", {}).get("Message") or "")
            return Fault(
                DENIED if _code(error) == "AccessDenied" else kind_of_status(status),
                f"{_code(error)}: {text}",
            )
        if isinstance(error, NoCredentialsError):
            return Fault(DENIED, str(error))
        if isinstance(error, (BotoCoreError, Boto3Error)):
            return Fault(SERVICE, str(error).partition("?")[0])
        return None

    def _read(self, key: str, **more: str) -> bytes:
        from botocore.exceptions import ClientError

        try:
            answer = self._client.get_object(Bucket=self._bucket, Key=key, **more)
        except ClientError as error:
            if _code(error) in _MISSING:
                raise FileNotFoundError(key) from error
            raise
        content: bytes = answer["Body"].read()
        return content


def _settings(target: Target) -> Any:
    from botocore.config import Config

    client, retry = target.options["client_options"], target.options["retry_config"]
    values: Dict[str, Any] = {
        "connect_timeout": client["connect_timeout"].total_seconds(),
        "read_timeout": client["timeout"].total_seconds(),
        "max_pool_connections": _CONNECTIONS,
        "retries": {
            "mode": "standard",
            "max_attempts": attempts_in(retry["retry_timeout"].total_seconds()),
        },
    }
    if "endpoint" in target.options:
        values["s3"] = {"addressing_style": "path"}
    needed = "when_required"  # services other than Amazon's refuse checksums that nobody asked for
    try:
        return Config(
            **values,
            request_checksum_calculation=needed,
            response_checksum_validation=needed,
        )
    except TypeError:  # before 1.36 there were none
        return Config(**values)


def _code(error: Any) -> str:
    return str(error.response.get("Error", {}).get("Code") or "")
