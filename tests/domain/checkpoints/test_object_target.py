"""Configurations of object storage, as the master and as the tasks read them."""

from __future__ import annotations

from datetime import timedelta
from typing import Any

import pytest

from determined.common.storage._options import target_of
from determined_master.domain.checkpoints.object_target import object_target
from determined_master.domain.errors import FailedPrecondition

RETRY = timedelta(seconds=120)
KEYED = {"access_key": "k", "secret_key": "s"}
ACCOUNT = {"account_url": "https://acct.blob.core.windows.net/"}
STRING = "DefaultEndpointsProtocol=https;AccountName=acct;AccountKey=a2V5PT0=;EndpointSuffix=e.net"
SAS = "BlobEndpoint=https://acct.blob.core.windows.net/;SharedAccessSignature=?sv=1&sig=x%3D"
BOTH: list[tuple[dict[str, Any], dict[str, str], dict[str, Any]]] = [
    (
        {"type": "s3", "bucket": "b", "prefix": "/a//./b/", **KEYED},
        {"AWS_REGION": "eu-west-1"},
        {"access_key_id": "k", "secret_access_key": "s", "region": "eu-west-1"},
    ),
    (
        {"type": "s3", "bucket": "b", "endpoint_url": "http://127.0.0.1:9000/", "prefix": None},
        {},
        {"endpoint": "http://127.0.0.1:9000", "region": "us-east-1"},
    ),
    ({"type": "gcs", "bucket": "b"}, {}, {}),
    (
        {"type": "azure", "container": "c", "connection_string": STRING},
        {},
        {
            "account_name": "acct",
            "endpoint": "https://acct.blob.e.net",
            "account_key": "a2V5PT0=",
        },
    ),
    (
        {"type": "azure", "container": "c", "connection_string": SAS},
        {},
        {
            "account_name": "acct",
            "endpoint": "https://acct.blob.core.windows.net",
            "sas_key": "sv=1&sig=x%3D",
        },
    ),
    (
        {"type": "azure", "container": "c", "connection_string": "UseDevelopmentStorage=true"},
        {},
        {"use_emulator": True, "account_name": "devstoreaccount1"},
    ),
    (
        {"type": "azure", "container": "c", **ACCOUNT, "credential": "a2V5"},
        {},
        {
            "account_name": "acct",
            "endpoint": "https://acct.blob.core.windows.net",
            "account_key": "a2V5",
        },
    ),
    (
        {"type": "azure", "container": "c", "account_url": "https://h.x/in?sv=1&sig=y"},
        {},
        {"account_name": "h", "endpoint": "https://h.x/in", "sas_key": "sv=1&sig=y"},
    ),
    (
        {"type": "azure", "container": "c", **ACCOUNT},
        {},
        {"account_name": "acct", "endpoint": "https://acct.blob.core.windows.net"},
    ),
]


@pytest.mark.parametrize(("config", "env", "options"), BOTH)
def test_master_and_tasks_reach_the_same_storage(
    config: dict[str, Any], env: dict[str, str], options: dict[str, Any]
) -> None:
    mine, theirs = object_target(config, env, RETRY), target_of(config, env)
    assert {k: v for k, v in mine.options.items() if not k.endswith(("options", "config"))} == (
        options
    )
    assert mine.options == theirs.options
    assert (mine.kind, mine.name, mine.prefix) == (theirs.kind, theirs.name, theirs.prefix)
    assert mine.address == theirs.address


def test_an_emulator_of_google_needs_no_credentials() -> None:
    env = {"STORAGE_EMULATOR_HOST": "127.0.0.1:4443"}
    mine = object_target({"type": "gcs", "bucket": "b"}, env, RETRY)
    assert mine.options == target_of({"type": "gcs", "bucket": "b"}, env).options
    assert '"gcs_base_url": "http://127.0.0.1:4443"' in mine.options["service_account_key"]
    assert mine.options["client_options"]["allow_http"] is True


def test_keys_lie_below_the_prefix() -> None:
    target = object_target({"type": "s3", "bucket": "b", "prefix": "/p/"}, {}, RETRY)
    assert target.key("u/a") == "p/u/a"
    assert target.address == "s3://b/p"
    assert object_target({"type": "s3", "bucket": "b"}, {}, RETRY).key("u/a") == "u/a"


@pytest.mark.parametrize(
    ("config", "text"),
    [
        ({"type": "azure", "container": "c", "account_url": "nonsense"}, "account_url"),
        ({"type": "azure", "container": "c", "connection_string": "a=b"}, "AccountName"),
    ],
)
def test_addresses_that_lead_nowhere_are_named(config: dict[str, Any], text: str) -> None:
    with pytest.raises(FailedPrecondition, match=text):
        object_target(config, {}, RETRY)
    with pytest.raises(ValueError, match=text):
        target_of(config, {})


@pytest.mark.parametrize(
    ("config", "text"),
    [
        ({"type": "s3"}, "checkpoint_storage.bucket"),
        ({"type": "s3", "bucket": "b", "access_key": "k"}, "must be set together"),
        ({"type": "s3", "bucket": "b", "endpoint_url": "host:9000"}, "must start with"),
        ({"type": "gcs", "bucket": "b", "prefix": "a/../b"}, "must not contain"),
        ({"type": "azure", "container": "c"}, "either connection_string or account_url"),
        ({"type": "s3", "bucket": "b", "access_key": "********"}, "hidden"),
        ({"type": "azure", "container": "c", **ACCOUNT, "credential": "********"}, "hidden"),
    ],
)
def test_an_unusable_setting_of_tasks_is_named(config: dict[str, Any], text: str) -> None:
    with pytest.raises(ValueError, match=text):
        target_of(config, {})


def test_a_user_without_the_shells_keys_uses_their_own() -> None:
    config = {"type": "s3", "bucket": "b", "access_key": "********", "secret_key": "********"}
    options = target_of(config, {"AWS_ACCESS_KEY_ID": "mine"}).options
    assert "access_key_id" not in options


def test_a_bucket_without_a_region_is_asked_for_it() -> None:
    target = target_of({"type": "s3", "bucket": "b"}, {}, lambda bucket: f"region-of-{bucket}")
    assert target.options["region"] == "region-of-b"
