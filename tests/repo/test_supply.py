"""Bills of materials and the comparison with advisories, made from the lock files."""

from __future__ import annotations

import json
import zipfile
from datetime import date
from pathlib import Path
from typing import Any

import pytest
from packaging.version import Version
from tools.audit_lock import Finding, UnreadableAdvisories, findings, is_affected, read_advisories
from tools.lock_files import LockFile, Pin, read_lock
from tools.make_sbom import DOCUMENTED, bill_of, write_all

from tools import audit_lock

PARENT = Pin("parent", "2.0", "", ("a" * 64, "b" * 64), ("determined-platform",))
OLD = Pin("child", "1.0", "python_full_version < '3.12'", ("c" * 64,), ("parent",))
NEW = Pin("child", "1.1", "python_full_version >= '3.12'", ("d" * 64,), ("parent",))
LOCK = LockFile("all", date(2026, 1, 2), "0" * 64, (PARENT, OLD, NEW))


def test_a_bill_names_each_locked_version_with_its_hashes_and_needs() -> None:
    bill = bill_of(LOCK, "1.2.3")
    assert (bill["bomFormat"], bill["specVersion"], bill["version"]) == ("CycloneDX", "1.6", 1)
    assert bill["metadata"]["timestamp"] == "2026-01-02T00:00:00Z"
    assert bill["metadata"]["component"]["version"] == "1.2.3"
    assert [c["purl"] for c in bill["components"]] == [
        "pkg:pypi/parent@2.0",
        "pkg:pypi/child@1.0",
        "pkg:pypi/child@1.1",
    ]
    assert [h["content"] for h in bill["components"][0]["hashes"]] == ["a" * 64, "b" * 64]
    assert bill["components"][1]["properties"][0]["value"] == OLD.marker
    assert bill["dependencies"] == [
        {"ref": "determined-platform", "dependsOn": ["pkg:pypi/parent@2.0"]},
        {
            "ref": "pkg:pypi/parent@2.0",
            "dependsOn": ["pkg:pypi/child@1.0", "pkg:pypi/child@1.1"],
        },
        {"ref": "pkg:pypi/child@1.0", "dependsOn": []},
        {"ref": "pkg:pypi/child@1.1", "dependsOn": []},
    ]


def test_the_same_lock_gives_the_same_bill_and_another_lock_another_number() -> None:
    assert bill_of(LOCK, "1") == bill_of(LOCK, "1")
    other = LOCK._replace(pins=(PARENT,))
    assert bill_of(other, "1")["serialNumber"] != bill_of(LOCK, "1")["serialNumber"]


def test_bills_of_the_locks_hold_every_pin_and_only_known_references(tmp_path: Path) -> None:
    for name, path in zip(DOCUMENTED, write_all(tmp_path), strict=True):
        bill = json.loads(path.read_text())
        assert len(bill["components"]) == len(read_lock(name).pins)
        refs = {c["bom-ref"] for c in bill["components"]} | {"determined-platform"}
        assert {d["ref"] for d in bill["dependencies"]} == refs
        reached, waiting = set(), ["determined-platform"]
        needs = {d["ref"]: d["dependsOn"] for d in bill["dependencies"]}
        while waiting:
            ref = waiting.pop()
            if ref not in reached:
                reached.add(ref)
                waiting += needs[ref]
        assert reached == refs


def advisory(*, name: str = "child", ident: str = "TEST-1", **affected: Any) -> dict[str, Any]:
    package = {"ecosystem": "PyPI", "name": name}
    return {"id": ident, "affected": [{"package": package, **affected}]}


def span(*events: tuple[str, str], kind: str = "ECOSYSTEM") -> dict[str, Any]:
    return {"ranges": [{"type": kind, "events": [{key: value} for key, value in events]}]}


@pytest.mark.parametrize(
    ("version", "part", "expected"),
    [
        ("1.0", {"versions": ["1.0"]}, True),
        ("1.0", {"versions": ["1.0.0"]}, True),  # the same version
        ("1.1", {"versions": ["1.0", "not a version"]}, False),
        ("1.0", span(("introduced", "0"), ("fixed", "1.1")), True),
        ("1.1", span(("introduced", "0"), ("fixed", "1.1")), False),
        ("1.10", span(("introduced", "1.2"), ("fixed", "1.9")), False),
        ("1.0", span(("introduced", "1.0"), ("last_affected", "1.1")), True),
        ("1.1", span(("introduced", "1.0"), ("last_affected", "1.1")), True),
        ("1.2", span(("introduced", "1.0"), ("last_affected", "1.1")), False),
        ("2.5", span(("introduced", "0"), ("fixed", "1"), ("introduced", "2")), True),
        ("1.5", span(("introduced", "2"), ("introduced", "0"), ("fixed", "1")), False),
        ("0.1a1", span(("introduced", "0")), True),
        ("1.0", span(("introduced", "0"), kind="GIT"), False),
    ],
)
def test_a_version_is_affected_if_it_is_listed_or_in_a_range(
    version: str, part: dict[str, Any], expected: bool
) -> None:
    assert is_affected(Version(version), part) is expected


def test_advisories_are_found_by_the_normal_form_of_a_name() -> None:
    pin = Pin("ruamel-yaml", "0.19.1", "", (), ())
    record = advisory(name="ruamel.YAML", **span(("introduced", "0"), ("fixed", "0.20")))
    assert findings([pin], [record]) == [Finding("TEST-1", (), pin, ("0.20",))]


def test_withdrawn_advisories_and_those_of_other_ecosystems_name_nothing() -> None:
    withdrawn = {**advisory(versions=["1.0"]), "withdrawn": "2026-01-01T00:00:00Z"}
    other = advisory(versions=["1.0"])
    other["affected"][0]["package"]["ecosystem"] = "npm"
    assert findings([OLD], [withdrawn, other]) == []


@pytest.mark.parametrize("form", ["file", "list", "directory", "archive"])
def test_advisories_are_read_from_files_directories_and_archives(
    tmp_path: Path, form: str
) -> None:
    records = [advisory(ident="TEST-1"), advisory(ident="TEST-2")]
    path = tmp_path / "given"
    if form == "file":
        path.write_text(json.dumps(records[0]))
    elif form == "list":
        path.write_text(json.dumps(records))
    elif form == "directory":
        (path / "deeper").mkdir(parents=True)
        for record in records:
            (path / "deeper" / f"{record['id']}.json").write_text(json.dumps(record))
    else:
        with zipfile.ZipFile(path, "w") as archive:
            for record in records:
                archive.writestr(f"{record['id']}.json", json.dumps(record))
    found = [record["id"] for record in read_advisories(path)]
    assert found == (["TEST-1"] if form == "file" else ["TEST-1", "TEST-2"])


@pytest.mark.parametrize(
    ("content", "said"),
    [
        (None, "does not exist: give the path"),
        ("{", "is no JSON"),
        ('{"id": "TEST-1"}', "no records in OSV's form"),
        ("[]", "holds no advisory"),
    ],
)
def test_a_file_without_advisories_is_named(
    tmp_path: Path, content: str | None, said: str
) -> None:
    path = tmp_path / "given.json"
    if content is not None:
        path.write_text(content)
    with pytest.raises(UnreadableAdvisories, match=said) as error:
        read_advisories(path)
    assert str(path) in str(error.value)


def test_the_command_fails_for_a_locked_version_until_it_is_accepted(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    pin = next(pin for pin in read_lock("master").pins if pin.name == "urllib3")
    record = advisory(name="urllib3", versions=[pin.version], **span(("fixed", "99")))
    record["aliases"] = ["CVE-0000-1"]
    path = tmp_path / "given.json"
    path.write_text(json.dumps(record))
    assert audit_lock.main([str(path)]) == 1
    assert f"urllib3 {pin.version}: TEST-1 (CVE-0000-1), fixed in 99" in capsys.readouterr().out
    assert audit_lock.main([str(path), "--accept", "CVE-0000-1"]) == 0
    assert "1 advisories: 0 found, 1 accepted" in capsys.readouterr().out
    assert audit_lock.main([str(tmp_path / "none")]) == 2
