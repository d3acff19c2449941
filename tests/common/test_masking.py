"""Secrets in trees of settings."""

from __future__ import annotations

from determined_wire.masking import MASK, mask_secrets


def test_secrets_are_masked_at_any_depth_and_unset_ones_stay_unset() -> None:
    settings = {
        "db": {"password": "deep", "port": 5432},
        "pools": [{"registry_auth": {"identity_token": "deep"}}],
        "checkpoint_storage": {"secret_key": None, "access_key": "deep", "bucket": "b"},
        "registry": {"auth": "deep", "identitytoken": "deep", "authority": "a"},
    }
    assert mask_secrets(settings) == {
        "db": {"password": MASK, "port": 5432},
        "pools": [{"registry_auth": {"identity_token": MASK}}],
        "checkpoint_storage": {"secret_key": None, "access_key": MASK, "bucket": "b"},
        "registry": {"auth": MASK, "identitytoken": MASK, "authority": "a"},
    }
