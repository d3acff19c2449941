"""Every setting of the master has a value in some file, and comes back by `det master config`."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import msgspec
import pytest
from msgspec import inspect
from tests.certificates import Authority

from determined_master.domain.config.layers import TASK_CONTAINER_DEFAULTS
from determined_master.domain.config.sections.storage import MASTER_STORAGE
from determined_master.settings.master import Settings, load
from determined_master.settings.pools import AnyResourceManager, ResourcePool
from determined_master.settings.providers.kinds import PROVIDERS
from determined_master.settings.providers.provider import Provider
from determined_wire.masking import mask_secrets
from determined_wire.settings_options import default_of, fields_of, unwrap

DOCUMENTS = sorted((Path(__file__).parents[1] / "data/settings").glob("*.yaml"))
NOT_IN_FILES = {
    "logging.type": "has one value",
    "__internal.external_sessions.login_uri": "refused: this version has passwords only",
    "resource_manager.agent.type": "is the default",
    "resource_manager.agent.scheduler.queue_name": "refused: is for clusters with kueue",
    "resource_manager.agent.scheduler.priority_class": "refused: is for clusters with kueue",
    "resource_manager.kubernetes.type": "is the default of this kind",
    "resource_manager.kubernetes.namespace": "was removed: refused",
    "provider.aws.prices_file": "its content is in prices",
    "provider.gcp.prices_file": "its content is in prices",
}
STORAGE = "checkpoint_storage"
POOL = "resource_pools."
CONTAINERS = "task_container_defaults"


@pytest.fixture(scope="module")
def files(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """What settings name: certificates, logos, wheels, a token."""
    directory = tmp_path_factory.mktemp("files")
    authority = Authority(directory, "ca")
    pair = authority.sign("det.example.org")
    pair.cert.rename(directory / "det.crt")
    pair.key.rename(directory / "det.key")
    (directory / "wheels").mkdir()
    (directory / "join-token").write_text("a" * 64)
    (directory / "join-token").chmod(0o600)
    for name in "abcd":
        (directory / f"{name}.svg").write_text("<svg/>")
    return directory


def read(document: Path, files: Path) -> Settings:
    """The settings of a document, from what they print."""
    first = _load(document.read_text().replace("FILES", str(files)), files)
    again = _load(json.dumps(mask_secrets(first.masked())), files)
    assert again.masked() == first.masked()
    return again


def _load(text: str, directory: Path) -> Settings:
    file = directory / "master.yaml"
    file.write_text(text)
    return load(["--config-file", str(file)], {"HOME": str(directory)}, is_root=False)


@pytest.mark.parametrize("document", DOCUMENTS, ids=lambda path: path.stem)
def test_a_file_comes_back_by_way_of_its_dump(document: Path, files: Path) -> None:
    read(document, files)


def test_every_setting_has_a_value_in_some_file_and_keeps_it(files: Path) -> None:
    values = {path for document in DOCUMENTS for path in changed(read(document, files))}
    everything = set(all_of(Settings))
    assert everything - values == set(NOT_IN_FILES)


def all_of(cls: type[msgspec.Struct], at: str = "") -> Iterator[str]:
    """The paths of all settings of a struct, without numbers of lists."""
    for field in fields_of(cls):
        type_, _, extra = unwrap(field.type)
        path = f"{at}{field.encode_name}"
        if extra.get("is_derived"):
            continue
        if choices := extra.get("choices"):
            for kind, chosen in choices.structs.items():
                yield from all_of(chosen, f"resource_manager.{kind}.")
        elif path.endswith(STORAGE):
            for kind, variant in MASTER_STORAGE.variants.items():
                yield from (_of_storage(kind, key) for key in variant.fields)
        elif path.endswith(CONTAINERS):
            yield from (f"{CONTAINERS}.{key}" for key in TASK_CONTAINER_DEFAULTS.fields)
        elif field.encode_name == "provider":
            for kind, provider in PROVIDERS.items():
                yield from all_of(provider.settings, f"provider.{kind}.")
        elif (inner := struct_of(type_)) is not None:
            yield from all_of(inner, POOL if inner is ResourcePool else f"{path}.")
        else:
            yield path


def struct_of(type_: inspect.Type) -> type[msgspec.Struct] | None:
    """The struct of a section, or of each item of a list."""
    if isinstance(type_, inspect.VarTupleType):
        type_ = unwrap(type_.item_type)[0]
    return type_.cls if isinstance(type_, inspect.StructType) else None


def changed(value: msgspec.Struct, at: str = "") -> Iterator[str]:
    """The paths of the settings of a struct that are not the defaults, as `all_of` names them."""
    for field in fields_of(type(value)):
        inner = getattr(value, field.name)
        path = f"{at}{field.encode_name}"
        if inner == default_of(field) or unwrap(field.type)[2].get("is_derived"):
            continue
        items = inner if isinstance(inner, tuple) else (inner,)
        for item in items:
            yield from _changed_item(item, path)


def _changed_item(item: Any, path: str) -> Iterator[str]:
    if isinstance(item, AnyResourceManager):
        yield from changed(item, f"resource_manager.{item.type}.")
    elif isinstance(item, Provider):
        yield from changed(item, f"provider.{item.type}.")
    elif isinstance(item, msgspec.Struct):
        yield from changed(item, POOL if isinstance(item, ResourcePool) else f"{path}.")
    elif path.endswith(STORAGE):
        yield from (_of_storage(item["type"], key) for key, v in item.items() if v is not None)
    elif path.endswith(CONTAINERS):
        yield from (f"{CONTAINERS}.{key}" for key in item)
    else:
        yield path


def _of_storage(kind: str, key: str) -> str:
    """The path of a key: those that all kinds have stand once."""
    return (
        f"{STORAGE}.{key}"
        if key in (*MASTER_STORAGE.common, "user")
        else f"{STORAGE}.{kind}.{key}"
    )
