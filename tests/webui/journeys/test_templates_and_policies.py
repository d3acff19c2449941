"""Templates and configuration policies: written as YAML, checked, and in force at once."""

from __future__ import annotations

import re
from typing import Any

import pytest
from playwright.sync_api import Page, expect
from tests.e2e.cluster import APIException
from tests.webui.conftest import Site
from tests.webui.scene import SAVES, Place, new_name, new_place
from tests.webui.tables import act_on, confirm, row_of

pytestmark = [pytest.mark.e2e, pytest.mark.slow, pytest.mark.xdist_group("webui-2")]


@pytest.fixture(scope="module")
def place(site: Site) -> Place:
    return new_place(site.cluster, "rules")


def test_a_template_is_written_used_renamed_and_deleted(place: Place, admin: Any) -> None:
    cluster = place.cluster
    name, renamed = new_name("template"), new_name("renamed")
    page: Page = admin.goto(f"/workspaces/{place.workspace}/templates")
    page.get_by_role("button", name="New template").click()
    dialog = page.get_by_role("dialog", name="New template")
    dialog.get_by_label("Name").fill(name)
    editor = dialog.get_by_label("Configuration (YAML)")
    create = dialog.get_by_role("button", name="Create")
    editor.fill("resources:\n  priority: 3\n description: x")
    expect(dialog.get_by_text(re.compile("^Line 3"))).to_be_visible()
    expect(create).to_have_attribute("aria-disabled", "true")
    editor.fill("resources:\n  priority: 3\nsurprise: 1\n")
    create.click()
    refusal = dialog.get_by_role("status").filter(has_text="surprise")
    expect(refusal).to_be_visible()  # by the master
    expect(editor).to_have_value("resources:\n  priority: 3\nsurprise: 1\n")
    editor.fill("resources:\n  priority: 3\n")
    create.click()
    expect(row_of(page, "Templates", name)).to_contain_text("resources")

    config = {
        "name": "from a template",
        "workspace": place.name,
        "project": place.name,
        "entrypoint": "python3 t.py",
        "searcher": {"name": "single", "metric": "loss"},
    }
    made = cluster.create(config, {"t.py": SAVES}, template=name, activate=False)
    assert made["config"]["resources"]["priority"] == 3

    act_on(page, name, "Rename")
    dialog = page.get_by_role("dialog", name=f"Rename template {name}")
    dialog.get_by_label("Name").fill(renamed)
    dialog.get_by_role("button", name="Rename").click()
    row_of(page, "Templates", renamed).get_by_role("link", name=renamed).click()
    expect(page).to_have_url(re.compile(f"template={renamed}"))
    dialog = page.get_by_role("dialog", name=f"Template {renamed}")
    dialog.get_by_label("Configuration (YAML)").fill("resources: {priority: 5}")
    dialog.get_by_role("button", name="Save").click()
    expect(dialog).to_be_hidden()
    stored = cluster.get(f"/api/v1/templates/{renamed}")["template"]["config"]
    assert stored == {"resources": {"priority": 5}}

    act_on(page, renamed, "Delete")
    confirm(page, "Delete")
    expect(row_of(page, "Templates", renamed)).to_have_count(0)


def test_a_policy_blocks_a_launch_until_it_is_deleted(place: Place, admin: Any) -> None:
    cluster = place.cluster
    path = f"/api/v1/config-policies/workspaces/{place.workspace}/EXPERIMENT"
    page: Page = admin.goto(f"/workspaces/{place.workspace}/policies")
    editor = page.get_by_label("Policies for experiments")
    card = page.locator("section").filter(has=editor)
    editor.fill("constraints:\n  resources:\n    max_slots: [")
    apply = card.get_by_role("button", name="Apply")
    expect(apply).to_have_attribute("aria-disabled", "true")
    editor.fill("constraints:\n  resources:\n    max_slots: many\n")
    apply.click()
    confirm(page, "Apply")
    expect(card.get_by_role("status").filter(has_text="max_slots")).to_be_visible()
    assert cluster.get(path)["configPolicies"] == {}
    editor.fill("constraints:\n  resources:\n    max_slots: 1\n")
    apply.click()
    expect(page.get_by_role("dialog")).to_contain_text(f"workspace {place.name}")
    confirm(page, "Apply")
    toast = page.get_by_role("status").filter(has_text="Applied the policies")
    expect(toast).to_be_visible()
    assert cluster.get(path)["configPolicies"] == {"constraints": {"resources": {"max_slots": 1}}}
    two = {"slots_per_trial": 2}
    with pytest.raises(APIException, match="the limit of 1 slots that a config policy"):
        place.submit("pass", resources=two)

    editor.fill("")
    card.get_by_role("button", name="Delete").click()
    confirm(page, "Delete")
    expect(page.get_by_role("status").filter(has_text="Deleted the policies")).to_be_visible()
    assert cluster.wait(place.submit("pass", resources=two)) == "COMPLETED"
