"""Selectors of devices."""

from __future__ import annotations

from decimal import Decimal

import pytest

from determined_master.domain.pods.devices.cel import (
    CelQuantity,
    CelVersion,
    Domains,
    NotUnderstood,
    Undecided,
    selector,
)

D = "gpu.nvidia.com"
GPU = {
    "driver": D,
    "attributes": Domains(
        {
            D: {
                "type": "gpu",
                "productName": "NVIDIA H100",
                "index": 3,
                "ready": True,
                "driverVersion": CelVersion("550.1.0"),
            }
        }
    ),
    "capacity": Domains({D: {"memory": CelQuantity(Decimal(80 * 2**30))}}),
}
A = f"device.attributes['{D}']"


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        (f"device.driver == '{D}'", True),
        (f'device.driver == "{D}" && {A}.type == "gpu"', True),
        (f"device.driver == '{D}' && {A}.type == 'mig'", False),
        (f"{A}['type'] in ['mig', 'gpu']", True),
        (f"'type' in {A} && !('mig' in {A})", True),
        (f"has({A}.type) && !has({A}.profile)", True),
        (f"{A}.productName.lowerAscii().contains('h100')", True),
        (f"{A}.productName.startsWith('NVIDIA') && {A}.productName.endsWith('100')", True),
        (f"{A}.index < 4 && {A}.index >= 3 && {A}.index != -1", True),
        (f"{A}.index == '3' || {A}.ready == 1", False),
        (f"{A}.ready", True),
        (f"device.capacity['{D}'].memory.compareTo(quantity('40Gi')) >= 0", True),
        (f"device.capacity['{D}'].memory.isGreaterThan(quantity('80Gi'))", False),
        (f"device.capacity['{D}'].memory == quantity('81920Mi')", True),
        ("  true\n&& !!true ", True),
        ("true || false && false", True),
        ("(true || false) && false", False),
        (r"device.driver == 'a\'b\\'", False),
    ],
)
def test_a_selector_takes_the_devices_that_kubernetes_takes(text: str, expected: bool) -> None:
    assert selector(text).matches(GPU) is expected


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        (f"device.driver == 'other' && {A}.missing == 1", False),
        (f"{A}.missing == 1 && device.driver == 'other'", False),
        (f"{A}.missing == 1 || device.driver == '{D}'", True),
    ],
)
def test_a_side_that_decides_counts_where_another_fails(text: str, expected: bool) -> None:
    assert selector(text).matches(GPU) is expected


@pytest.mark.parametrize(
    "text",
    [
        f"{A}.missing == 'x'",
        "device.attributes['other.example'].x == 1",
        f"{A}.type",
        f"{A}.type < 3",
        f"{A}.index && true",
        f"!{A}.type",
        f"{A}.driverVersion == '550.1.0'",
        f"{A}.type.compareTo(quantity('1')) > 0",
        f"{A}.index.startsWith('3')",
        "quantity(3) == quantity('3')",
        "'x' in 'xy'",
        "has(device.driver.x)",
        "device.driver.x == 1",
    ],
)
def test_a_selector_that_fails_for_a_device_decides_nothing(text: str) -> None:
    with pytest.raises(Undecided):
        selector(text).matches(GPU)


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("", "not complete"),
        ("device.driver ==", "not complete"),
        ("device.driver = 'x'", "is not understood"),
        ("device.driver == 'x", "is not understood"),
        (r"device.driver == 'a\n'", "is not understood"),
        ("device.driver.matches('.*')", "matches is not evaluated"),
        ("cel.bind(x, 1, true)", "'cel' is not understood"),
        ("semver('1.0.0') == 1", "semver is not evaluated"),
        ("1.5 < 2", "is not understood"),
        ("device.driver == 'x' ? true : false", "is not understood"),
        ("true true", "'true' is not expected"),
        ("(true", "')' is missing"),
        ("[1 2]", "',' is missing"),
        ("device.'x'", "no name of a field"),
        ("has(true)", "has() takes a field"),
        ("has(device['driver'])", "has() takes a field"),
        ("quantity('1', '2') == 1", "wrong number"),
        ("(" * 50 + "true" + ")" * 50, "nested more than 40"),
        ("[" * 5000, "nested more than 40"),
        ("!" * 3000 + "true" + " " * 9000, "more than 10240 characters"),
    ],
)
def test_other_parts_of_cel_are_refused_with_the_place(text: str, said: str) -> None:
    with pytest.raises(NotUnderstood) as caught:
        selector(text)
    assert said in str(caught.value)


def test_a_long_row_of_negations_is_read() -> None:
    assert selector("!" * 5001 + "false").matches(GPU)


def test_an_unknown_domain_has_no_attributes() -> None:
    assert not selector("has(device.attributes['other.example'].x)").matches(GPU)
    assert not selector("'x' in device.capacity['other.example']").matches(GPU)
