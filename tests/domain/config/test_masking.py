"""No secret of a configuration is shown, and nothing else is changed."""

from __future__ import annotations

from tests.covers import covers

from determined_master.domain.config.masking import MASK, mask_config

CONFIG = {
    "name": "n",
    "checkpoint_storage": {"type": "s3", "bucket": "b", "access_key": "a", "secret_key": "s"},
    "environment": {"image": "i", "registry_auth": {"username": "u", "password": "p"}},
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
        "environment": {"image": "i", "registry_auth": {"username": "u", "password": MASK}},
        "data": {"url": "x", "secrets": {"one": MASK, "two": MASK}},
    }
    assert CONFIG["data"]["secrets"] == {"one": "1", "two": "2"}  # type: ignore[index]  # as it was


def test_what_is_not_set_stays_unset() -> None:
    unset = {
        "checkpoint_storage": {"type": "s3", "access_key": None},
        "environment": {"registry_auth": None},
        "data": {},
    }
    assert mask_config(unset) == unset
    assert mask_config({}) == {}
