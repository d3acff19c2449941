"""No secret of a configuration is shown, and nothing else is changed."""

from __future__ import annotations

import pytest
from tests.covers import covers

from determined import _masking as client
from determined._masking import mask_config_dict
from determined_master.domain.config.masking import (
    keep_masked_config,
    mask_but_storage,
    mask_config,
)
from determined_wire.masking import MASK, is_secret

CONFIG = {
    "name": "n",
    "checkpoint_storage": {"type": "s3", "bucket": "b", "access_key": "a", "secret_key": "s"},
    "environment": {
        "image": "i",
        "registry_auth": {"username": "u", "password": "p", "registrytoken": "r"},
    },
    "integrations": {
        "pachyderm": {"pachd": {"host": "h"}, "dataset": {"commit": "c", "token": "t"}},
        "webhooks": {},
    },
    "data": {"url": "x", "secrets": {"one": "1", "two": "2"}},
}


@covers("experiment-config 2.data 14.masking 21.obfuscation")
def test_credentials_and_secrets_are_masked_and_the_rest_is_kept() -> None:
    assert mask_config(CONFIG) == {
        "name": "n",
        "checkpoint_storage": {
            "type": "s3",
            "bucket": "b",
            "access_key": MASK,
            "secret_key": MASK,
        },
        "environment": {
            "image": "i",
            "registry_auth": {"username": "u", "password": MASK, "registrytoken": MASK},
        },
        "integrations": {
            "pachyderm": {"pachd": {"host": "h"}, "dataset": {"commit": "c", "token": MASK}},
            "webhooks": {},
        },
        "data": {"url": "x", "secrets": {"one": MASK, "two": MASK}},
    }
    assert CONFIG["data"]["secrets"] == {"one": "1", "two": "2"}  # type: ignore[index]  # as it was


def test_the_client_masks_the_same_when_it_prints_a_configuration() -> None:
    assert mask_config_dict(CONFIG) == mask_config(CONFIG)


@pytest.mark.parametrize(
    "name",
    [
        "hub_token",
        "API_SECRET",
        "auth",
        "credential",
        "token_file",
        "author",
        "rate",
        "access_key",
    ],
)
def test_the_client_and_the_master_call_the_same_names_secret(name: str) -> None:
    assert client.is_secret(name) == is_secret(name)


def test_unset_options_stay_unset() -> None:
    unset = {
        "checkpoint_storage": {"type": "s3", "access_key": None},
        "environment": {"registry_auth": None},
        "data": {},
    }
    assert mask_config(unset) == unset
    assert mask_config({}) == {}


def test_a_checkpoint_shows_the_storage_and_no_other_secret() -> None:
    expected = {**mask_config(CONFIG), "checkpoint_storage": CONFIG["checkpoint_storage"]}
    assert mask_but_storage(CONFIG) == expected


def test_masks_that_come_back_are_the_secrets_again() -> None:
    assert keep_masked_config(mask_config(CONFIG), CONFIG) == CONFIG
