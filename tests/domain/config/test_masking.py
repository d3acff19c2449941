"""No secret of a configuration is shown, and nothing else is changed."""

from __future__ import annotations

import inspect
import time

import pytest
from tests.covers import covers

from determined import _masking as client
from determined._masking import mask_config_dict
from determined_master.domain.config.masking import (
    keep_masked_config,
    mask_but_storage,
    mask_config,
)
from determined_wire import masking as master
from determined_wire.masking import MASK, has_password, is_secret, mask_secrets

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


SECRETS = (
    *("password", "db_password", "passwd", "pwd", "passphrase", "ssh-passphrase", "passcode"),
    *("api_key", "apikey", "api-key", "apiKey", "OPENAI_API_KEY", "wandb.api_key", "APIKey"),
    *("access_key", "aws_access_key_id", "secret_key", "private_key", "private-key", "privateKey"),
    *("client_secret", "clientSecret", "API_SECRET", "signing_key", "accountKey"),
    *("token", "hub_token", "authToken", "access-token", "identitytoken", "registrytoken"),
    *("bearer", "bearer_token", "Authorization", "auth", "credential", "credentials"),
    *("connection_string", "connectionString", "encryption_key"),
)
NO_SECRETS = (
    *("key", "keys", "num_keys", "key_size", "primary_key", "key_value_heads", "monkey", "author"),
    *("token_count", "max_tokens", "num_tokens", "tokens", "tokenizer", "tokenizer_name"),
    *("token_type_ids", "max_new_tokens", "pad_token", "eos_token", "mask_token", "pad_token_id"),
    *("token_file", "password_file", "private_key_file", "authors", "rate", "access", "api_url"),
    *("bypass", "passes", "compass", "forbearer", "accessory", "", "_"),
)


@pytest.mark.parametrize("name", SECRETS)
def test_the_words_of_a_name_show_that_it_is_a_secret(name: str) -> None:
    assert is_secret(name)
    assert mask_secrets({name: "x"}) == {name: MASK}


@pytest.mark.parametrize("name", NO_SECRETS)
def test_a_name_that_only_looks_like_a_secret_is_shown(name: str) -> None:
    assert not is_secret(name)
    assert mask_secrets({name: "x"}) == {name: "x"}


@pytest.mark.parametrize(
    "text",
    [
        "postgres://ann:pw@db:5432/x",
        "redis://:pw@cache",
        "https://user:pw@example.org/simple",
        "Server=db;User=sa;Password=pw;",
        "DefaultEndpointsProtocol=https;AccountName=a;AccountKey=pw==;EndpointSuffix=x",
        "host=db user=ann password=pw",
    ],
)
def test_a_text_with_a_password_is_masked_under_any_name(text: str) -> None:
    assert has_password(text)
    assert mask_secrets({"url": text, "all": [text]}) == {"url": MASK, "all": [MASK]}


@pytest.mark.parametrize(
    "text",
    [
        "postgres://db:5432/x",
        "https://example.org/a:b@c",
        "https://user@example.org",
        "s3://bucket/key",
        "password",
        "Server=db;Password=;",
        "a@b: c",
        "://" * 50_000,
        "://a:" * 50_000,
    ],
    ids=range(9),
)
def test_a_text_without_a_password_is_shown(text: str) -> None:
    began = time.process_time()
    assert not has_password(text)
    assert time.process_time() - began < 1
    assert mask_secrets({"url": text}) == {"url": text}


def test_the_client_has_the_rule_of_the_master() -> None:
    for rule in (is_secret, has_password):
        copied = getattr(client, rule.__name__)
        assert inspect.getsource(copied) == inspect.getsource(rule)
    for name in ("_PARTS", "_WORDS", "_TEXT_TOKENS", "_PASSWORD", "MASK"):
        assert getattr(client, name) == getattr(master, name)


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
