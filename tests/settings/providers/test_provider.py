"""What every `resource_pools[].provider` takes (master-config 15)."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from tests.covers import covers

from determined_master.settings.master import Settings, SettingsError, load
from determined_master.settings.providers.kinds import PROVIDERS, ProviderType
from determined_master.settings.providers.provider import MasterUrl, Provider, split_master_url

E = "scheduling-and-provisioning"
AT = "root.resource_pools[0].provider"


@pytest.fixture(autouse=True)
def local(monkeypatch: pytest.MonkeyPatch) -> None:
    """A type that has no options of its own."""
    monkeypatch.setitem(PROVIDERS, "local", ProviderType(Provider))


def read(tmp_path: Path, options: str) -> Settings:
    file = tmp_path / "master.yaml"
    pool = f"{{pool_name: default, provider: {{{options}}}}}"
    file.write_text(
        f"resource_pools: [{pool}]\ncheckpoint_storage: {{type: s3, bucket: checkpoints}}"
    )
    return load(["--config-file", str(file)], {"HOME": "/home/ada"}, is_root=False)


def provider(tmp_path: Path, options: str = "type: local") -> Provider:
    found = read(tmp_path, options).resource_pools[0].provider
    assert found is not None
    return found


def problems(tmp_path: Path, options: str) -> list[str]:
    with pytest.raises(SettingsError) as caught:
        read(tmp_path, options)
    return [line.strip() for line in str(caught.value).split("\n")[1:]]


@covers(f"{E} c.3.defaults c.3.agent")
def test_a_provider_that_says_only_its_type_has_the_defaults(tmp_path: Path) -> None:
    assert provider(tmp_path) == Provider(
        type="local",
        master_url="",
        master_cert_name="",
        startup_script="",
        container_startup_script="",
        agent_docker_image="",
        agent_docker_network="default",
        agent_docker_runtime="runc",
        agent_reconnect_attempts=5,
        agent_reconnect_backoff=5,
        agent_config_file_contents=None,
        max_idle_agent_period_s=20 * 60.0,
        max_agent_starting_period_s=20 * 60.0,
        min_instances=0,
        max_instances=5,
        launch_error_timeout_s=0.0,
        launch_error_retries=0,
    )


def test_a_pool_without_a_provider_has_none(tmp_path: Path) -> None:
    assert load([], {"HOME": "/home/ada"}, is_root=False).resource_pools[0].provider is None


GIVEN: dict[str, tuple[str, Any]] = {
    "master_url": ("'https://det.example:8443'", "https://det.example:8443"),
    "master_cert_name": ("det.example", "det.example"),
    "startup_script": ("echo hi", "echo hi"),
    "container_startup_script": ("echo ho", "echo ho"),
    "agent_docker_image": ("'lab/agent:2'", "lab/agent:2"),
    "agent_docker_network": ("host", "host"),
    "agent_docker_runtime": ("nvidia", "nvidia"),
    "agent_reconnect_attempts": ("8", 8),
    "agent_reconnect_backoff": ("2", 2),
    "agent_config_file_contents": ("{label: big}", {"label": "big"}),
    "max_idle_agent_period": ("5m", 300.0),
    "max_agent_starting_period": ("1h30m", 5400.0),
    "min_instances": ("5", 5),
    "max_instances": ("9", 9),
    "launch_error_timeout": ("10m", 600.0),
    "launch_error_retries": ("2", 2),
}


@pytest.mark.parametrize("name", GIVEN)
def test_an_option_is_read(tmp_path: Path, name: str) -> None:
    text, value = GIVEN[name]
    image = "" if name == "agent_docker_image" else "agent_docker_image: a, "
    found = provider(tmp_path, f"type: local, {image}{name}: {text}")
    assert getattr(found, name, None) == value or getattr(found, f"{name}_s") == value


WRONG = {
    "min_instances: -1": "min_instances: must be >= 0 but found -1",
    "max_instances: 0": "max_instances: must be >= 1 but found 0",
    "min_instances: 6": (
        "min_instances: is 6, more than max_instances (5): lower it, or raise max_instances"
    ),
    "max_idle_agent_period: 0s": 'max_idle_agent_period: must be longer than 0, such as "20m"',
    "max_agent_starting_period: 0": (
        'max_agent_starting_period: must be longer than 0, such as "20m"'
    ),
    "max_idle_agent_period: soon": (
        'max_idle_agent_period: must be a time such as "25s" or "1m30s" but found "soon"'
    ),
    "launch_error_retries: -1": "launch_error_retries: must be >= 0 but found -1",
    "master_url: 'ftp://det'": ('master_url: "ftp://det" must begin with http:// or https://'),
    "master_url: 'http://det:80/api'": (
        'master_url: "http://det:80/api" must have nothing after the port: agents know the paths'
    ),
    "master_url: 'http://det:x'": (
        'master_url: "http://det:x" must have a number from 1 to 65535 as its port'
    ),
    "master_url: 'http://det:0'": (
        'master_url: "http://det:0" must have a number from 1 to 65535 as its port'
    ),
    "agent_docker_network: ''": (
        "agent_docker_network: is empty: name the network of Docker's that agents are in, or "
        "remove the option"
    ),
    "agent_docker_runtime: ''": (
        "agent_docker_runtime: is empty: name the runtime of Docker's that runs agents, or remove "
        "the option"
    ),
    "master_url: 'http://a:b@det'": (
        'master_url: "http://a:b@det" must not have a user: agents join with a token'
    ),
    "max_instance: 3": "max_instance: unknown option; did you mean max_instances?",
}


@covers(f"{E} c.3.bounds c.3.image c.3.master_url")
@pytest.mark.parametrize("option", WRONG)
def test_a_mistake_is_refused_with_its_path_and_remedy(tmp_path: Path, option: str) -> None:
    assert problems(tmp_path, f"type: local, {option}") == [f"{AT}.{WRONG[option]}"]


@pytest.mark.parametrize("value", ["zip", "[1]"])
def test_only_a_map_is_accepted(tmp_path: Path, value: str) -> None:
    file = tmp_path / "master.yaml"
    file.write_text(f"resource_pools: [{{pool_name: default, provider: {value}}}]")
    with pytest.raises(SettingsError, match=r"provider: expected object, but got"):
        load(["--config-file", str(file)], {"HOME": "/home/ada"}, is_root=False)


NO_EFFECT = {
    "agent_fluent_image: 'fluent/bit'": "agent_fluent_image: has no effect",
    "launch_error_retries: 3": "launch_error_retries: has no effect without launch_error_timeout",
}


@pytest.mark.parametrize("option", NO_EFFECT)
def test_keys_without_effect_are_reported(tmp_path: Path, option: str) -> None:
    warnings = read(tmp_path, f"type: local, {option}").warnings
    assert [w for w in warnings if w.startswith(f"{AT}.{NO_EFFECT[option]}")], warnings


@pytest.mark.parametrize("host", ["localhost", "127.0.0.1", "127.1.2.3", "[::1]"])
def test_a_master_url_of_loopback_is_reported(tmp_path: Path, host: str) -> None:
    warnings = read(tmp_path, f"type: local, master_url: 'http://{host}:8080'").warnings
    assert [w for w in warnings if w.startswith(f"{AT}.master_url: names this computer alone")]


def test_a_master_url_that_machines_reach_is_not_reported(tmp_path: Path) -> None:
    for url in ("http://10.0.0.1:8080", "http://det.example:8080", "http://local-ipv4"):
        warnings = read(tmp_path, f"type: local, master_url: '{url}'").warnings
        assert not [w for w in warnings if "master_url" in w]


@covers(f"{E} c.3.scripts")
def test_scripts_and_the_options_of_agents_are_shown_to_nobody(tmp_path: Path) -> None:
    text = "type: local, startup_script: s3cret, container_startup_script: s3cret"
    shown = read(tmp_path, f"{text}, agent_config_file_contents: {{a: s3cret}}").masked()
    assert "s3cret" not in str(shown)
    assert shown["resource_pools"][0]["provider"]["startup_script"] == "********"
    assert shown["resource_pools"][0]["provider"]["max_idle_agent_period"] == "1200s"


@covers(f"{E} c.3.one")
@pytest.mark.parametrize("type", ["zip", "[local, zip]", "hpc"])
def test_another_type_of_provider_is_refused(tmp_path: Path, type: str) -> None:
    [problem] = problems(tmp_path, f"type: {type}")
    assert problem.startswith(f"{AT}.type: ")


def test_the_url_of_the_master_has_parts() -> None:
    assert split_master_url("https://local-ipv4:8443") == MasterUrl("https", "local-ipv4", 8443)
    assert split_master_url("http://det.example") == MasterUrl("http", "det.example", 0)
    assert split_master_url("") == MasterUrl("", "", 0)
