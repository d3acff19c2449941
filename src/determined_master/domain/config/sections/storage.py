"""Checkpoint storage: where checkpoints are stored and which of them are kept."""

from __future__ import annotations

import posixpath
from collections.abc import Mapping
from dataclasses import replace
from typing import Any

import msgspec

from determined_master.domain.config.schema.containers import Field, ListOf, Object, Rule, Tagged
from determined_master.domain.config.schema.problems import ProblemReport
from determined_master.domain.config.schema.values import Boolean, Integer, Text
from determined_master.domain.errors import InvalidArgument


class KeepCounts(msgspec.Struct, frozen=True, kw_only=True):
    """How many checkpoints remain after the experiment's end."""

    save_experiment_best: int = 0
    save_trial_best: int = 1
    save_trial_latest: int = 1


class SharedFs(KeepCounts, frozen=True, kw_only=True, tag_field="type", tag="shared_fs"):
    """A directory that every agent has at the same path."""

    host_path: str
    storage_path: str | None = None
    propagation: str = "rprivate"
    create: bool = False


class Directory(KeepCounts, frozen=True, kw_only=True, tag_field="type", tag="directory"):
    """A directory inside the containers."""

    container_path: str


class S3(KeepCounts, frozen=True, kw_only=True, tag_field="type", tag="s3"):
    """A bucket of S3 or of an S3-compatible store."""

    bucket: str
    access_key: str | None = None
    secret_key: str | None = None
    endpoint_url: str | None = None
    prefix: str | None = None


class Gcs(KeepCounts, frozen=True, kw_only=True, tag_field="type", tag="gcs"):
    """A bucket of Google Cloud Storage."""

    bucket: str
    prefix: str | None = None


class Azure(KeepCounts, frozen=True, kw_only=True, tag_field="type", tag="azure"):
    """A container of Azure Blob Storage."""

    container: str
    connection_string: str | None = None
    account_url: str | None = None
    credential: str | None = None


CheckpointStorage = SharedFs | Directory | S3 | Gcs | Azure


def typed_storage(config: Mapping[str, Any]) -> CheckpointStorage:
    """The typed form of a completed `checkpoint_storage` section."""
    storage: CheckpointStorage = msgspec.convert(dict(config), CheckpointStorage)
    return storage


def typed_keep_counts(config: Mapping[str, Any]) -> KeepCounts:
    """How many checkpoints a `checkpoint_storage` section keeps, whatever its type."""
    given = {key: value for key, value in config.items() if value is not None}
    return msgspec.convert(given, KeepCounts)


def _stays_below(storage: dict[str, Any], at: str, report: ProblemReport) -> None:
    """An absolute storage_path is below host_path; a relative one does not leave it."""
    host, path = storage.get("host_path"), storage.get("storage_path")
    if path is None:
        return
    clean = posixpath.normpath(path)
    if path.startswith("/"):
        root = posixpath.normpath(host) if host else None
        is_below = root is None or clean == root or clean.startswith(root.rstrip("/") + "/")
    else:
        is_below = clean != ".." and not clean.startswith("../")
    if not is_below:
        text = f'must be relative or a directory below host_path but found "{path}"'
        report.problem(f"{at}.storage_path", text)


def _one_credential(storage: dict[str, Any], at: str, report: ProblemReport) -> None:
    if storage.get("credential") and storage.get("connection_string"):
        report.problem(at, "credential and connection_string must not both be set")
    if storage.get("account_url") and storage.get("connection_string"):
        report.problem(at, "exactly one of connection_string and account_url must be set")


def _no_parents(prefix: str) -> str | None:
    if ".." in prefix.split("/"):
        return f'must not contain parent directories ("..") but found "{prefix}"'
    return None


def _absolute(path: str) -> str | None:
    return None if path.startswith("/") else f'must be an absolute path but found "{path}"'


class _Prefix(Text):
    """A prefix without redundant slashes and dots."""

    def read(self, value: Any, at: str, report: ProblemReport) -> str | None:
        read = super().read(value, at, report)
        if not read:
            return read
        start = "/" if read.startswith("/") else ""
        parts = [part for part in read.split("/") if part not in ("", ".")]
        return start + "/".join(parts)


_COUNT = Integer(at_least=0)
COMMON: dict[str, Field] = {
    "type": Field(Text(), is_required=True, doc="Kind of storage."),
    "save_experiment_best": Field(_COUNT, 0, "Best checkpoints of the experiment to keep."),
    "save_trial_best": Field(_COUNT, 1, "Best checkpoints of each trial to keep."),
    "save_trial_latest": Field(_COUNT, 1, "Latest checkpoints of each trial to keep."),
}


def _ignored() -> Field:
    return Field(Text(), is_hidden_when_null=True, no_effect="has no effect any more")


class _StorageObject(Object):
    """Drops older keys, which were only hints."""

    def complete(self, value: Any) -> Any:
        older = {key for key, field in self.fields.items() if field.no_effect}
        return super().complete({key: item for key, item in value.items() if key not in older})


class _SharedFsObject(_StorageObject):
    """Whether a directory may be created belongs to that directory."""

    def merge(self, high: Any, low: Any) -> Any:
        if high and low and high.get("host_path") not in (None, low.get("host_path")):
            low = {key: value for key, value in low.items() if key != "create"}
        return super().merge(high, low)


class _AzureObject(_StorageObject):
    """Merges the three ways to log in as a unit: they only make sense together."""

    _LOGIN = ("connection_string", "account_url", "credential")

    def merge(self, high: Any, low: Any) -> Any:
        if high and low and any(high.get(key) for key in self._LOGIN):
            low = {key: value for key, value in low.items() if key not in self._LOGIN}
        return super().merge(high, low)

    def find_gaps(self, value: Any, at: str, report: ProblemReport) -> None:
        super().find_gaps(value, at, report)
        if value and not value.get("connection_string") and not value.get("account_url"):
            text = "exactly one of connection_string and account_url must be set"
            report.problem(at, text, is_gap=True)


_OLDER_PATHS = ("container_path", "checkpoint_path", "tensorboard_path")
_OLDER = {"user": _ignored()}
_PREFIX = Field(_Prefix(_no_parents), doc="Directory in the bucket.")
_BUCKET = Field(Text(), is_required=True)


def _variant(fields: dict[str, Field], *rules: Rule) -> Object:
    return _StorageObject({**COMMON, **_OLDER, **fields}, rules=rules)


STORAGE = Tagged(
    tag="type",
    common=COMMON,
    variants={
        "shared_fs": _SharedFsObject(
            {
                **COMMON,
                **_OLDER,
                "host_path": Field(
                    Text(_absolute),
                    is_required=True,
                    doc="Directory on each agent. It must exist, or create must be set.",
                ),
                "storage_path": Field(Text(), doc="Directory in host_path."),
                "propagation": Field(Text(), "rprivate", "Docker's mode of mount propagation."),
                "create": Field(
                    Boolean(),
                    is_hidden_when_null=True,
                    doc="Whether an agent without host_path creates it.",
                ),
                **{key: _ignored() for key in _OLDER_PATHS},
            },
            rules=(_stays_below,),
        ),
        "directory": _variant(
            {
                "container_path": Field(
                    Text(_absolute), is_required=True, doc="Path in containers, mounted by you."
                )
            }
        ),
        "s3": _variant(
            {
                "bucket": _BUCKET,
                "access_key": Field(Text(), doc="Without keys, the machine's own credentials."),
                "secret_key": Field(Text()),
                "endpoint_url": Field(Text(), doc="Endpoint of an S3-compatible store."),
                "prefix": _PREFIX,
            }
        ),
        "gcs": _variant({"bucket": _BUCKET, "prefix": _PREFIX}),
        "azure": _AzureObject(
            {
                **COMMON,
                **_OLDER,
                "container": Field(Text(), is_required=True),
                "connection_string": Field(Text(), doc="Either this or account_url."),
                "account_url": Field(Text()),
                "credential": Field(Text(), doc="For account_url."),
            },
            rules=(_one_credential,),
        ),
    },
    aliases={},
    removed={"hdfs": "copy the checkpoints to another kind of storage"},
)


ALLOWED_ENDPOINTS = "allowed_endpoints"
SHARED = "shared"
_ALLOWED = Field(
    ListOf(Text()),
    is_hidden_when_null=True,
    doc=(
        "Endpoints of users' buckets that may be at private addresses, as URLs, and buckets that "
        "the master reads with its own credentials, as s3://BUCKET or gs://BUCKET."
    ),
)
_SHARED = Field(
    Boolean(),
    is_hidden_when_null=True,
    doc="Whether host_path is one file system on all machines, also on those on demand.",
)
MASTER_STORAGE = Tagged(
    tag="type",
    common={**COMMON, ALLOWED_ENDPOINTS: _ALLOWED},
    variants={
        name: replace(
            variant,
            fields={
                **variant.fields,
                ALLOWED_ENDPOINTS: _ALLOWED,
                **({SHARED: _SHARED} if name == "shared_fs" else {}),
            },
        )
        for name, variant in STORAGE.variants.items()
    },
    aliases={},
    removed=STORAGE.removed,
)
"""The section of the master's settings."""


def storage_defaults(section: Mapping[str, Any]) -> dict[str, Any]:
    """The part of the master's section that applies to experiments."""
    own = (ALLOWED_ENDPOINTS, SHARED, "create")
    return {key: value for key, value in section.items() if key not in own}


def checked_storage(config: Any) -> dict[str, Any]:
    """A storage configuration from outside, in the canonical form of experiments.

    How many checkpoints are kept is no part of it: that is a policy of the experiment.

    Raises:
        InvalidArgument: with every problem and its path.
    """
    report = ProblemReport()
    read = STORAGE.read(config, "checkpoint_storage", report)
    if read:
        STORAGE.find_gaps(STORAGE.complete(read), "checkpoint_storage", report)
    if report.problems or not read:
        found = "; ".join(f"{p.path}: {p.text}" for p in report.problems)
        raise InvalidArgument(f"the checkpoint storage cannot be used: {found or 'it is empty'}")
    storage: dict[str, Any] = msgspec.to_builtins(read)
    return {key: value for key, value in storage.items() if not key.startswith("save_")}


class _SeenStorage(Object):
    """Older `tensorboard_storage`: read and shown, never used."""

    def read(self, value: Any, at: str, report: ProblemReport) -> dict[str, Any] | None:
        for key in value if isinstance(value, Mapping) else ():
            if str(key).startswith("save_"):
                report.problem(f"{at}.{key}", "is not allowed here: set it in checkpoint_storage")
                value = {k: v for k, v in value.items() if k != key}
        return super().read(value, at, report)


def _without_counters(variant: Object) -> Object:
    shown = {k: f for k, f in variant.fields.items() if not k.startswith("save_")}
    kept = {k: f for k, f in shown.items() if not f.no_effect}
    kept |= {key: _ignored() for key in _OLDER_PATHS}
    return _SeenStorage(kept, rules=variant.rules)


TENSORBOARD_STORAGE = Tagged(
    tag="type",
    common={"type": COMMON["type"]},
    variants={n: _without_counters(STORAGE.variants[n]) for n in ("shared_fs", "s3", "gcs")},
    aliases={},
    removed={},
)
