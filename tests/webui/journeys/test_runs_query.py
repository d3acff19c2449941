"""A query of a list, its address, and the way back."""

from __future__ import annotations

import json
from typing import Any

import pytest
from playwright.sync_api import expect
from tests.webui.conftest import Site
from tests.webui.lists import ask, columns, expect_rows, grid
from tests.webui.work import Place, Run, listed, new_place, record

pytestmark = [pytest.mark.e2e, pytest.mark.slow, pytest.mark.xdist_group("webui-2")]

QUERY = "state:completed tag:even hp.lr<0.05 metric.loss<0.45"
RATES = (0.1, 0.01, 0.001)


def condition(column: str, operator: str, value: Any, location: str, type_: str) -> dict[str, Any]:
    return {
        "kind": "field",
        "columnName": column,
        "operator": operator,
        "value": value,
        "location": f"LOCATION_TYPE_{location}",
        "type": f"COLUMN_TYPE_{type_}",
    }


CONDITIONS = [
    condition("state", "=", "COMPLETED", "RUN", "TEXT"),
    condition("tags", "contains", "even", "RUN", "TEXT"),
    condition("hp.lr", "<", 0.05, "RUN_HYPERPARAMETERS", "NUMBER"),
    condition("validation.loss.last", "<", 0.45, "VALIDATIONS", "NUMBER"),
]
FILTER = {
    "filterGroup": {"kind": "group", "conjunction": "and", "children": CONDITIONS},
    "showArchived": False,
}


@pytest.fixture(scope="module")
def place(site: Site) -> Place:
    """Fourteen runs that differ in all that the query names."""
    made = new_place(site.cluster, "query")
    for number in range(14):
        run = Run(
            {"lr": RATES[number % 3]},
            [2.0, 0.05 * number],
            "ERROR" if number % 5 == 4 else "COMPLETED",
        )
        tag = "odd" if number % 2 else "even"
        record(site.cluster, made, f"query {number}", [run], labels=[tag])
    return made


def matching(site: Site, place: Place, sort: str) -> list[int]:
    found = [run["id"] for run in listed(site.cluster, place, json.dumps(FILTER), sort)]
    assert 1 < len(found) < 14, "the query must tell runs apart"
    return found


def test_a_query_of_four_terms_lists_what_the_master_finds(
    site: Site, place: Place, admin: Any
) -> None:
    page = admin.goto(f"/projects/{place.project}/runs")
    ask(page, QUERY)
    expect_rows(page, matching(site, place, "id=desc"))
    count = len(matching(site, place, "id=desc"))
    expect(page.get_by_text(f"{count} trials", exact=True)).to_be_visible()
    ask(page, "hp.lr<nothing")
    expect(page.get_by_text("“nothing” is not a number.")).to_be_visible()
    expect_rows(page, matching(site, place, "id=desc"))
    ask(page, "state:completed unknown:1")
    expect(page.get_by_text("“unknown” is no column of this project.")).to_be_visible()


def test_the_address_holds_the_view_and_back_undoes(site: Site, place: Place, visit: Any) -> None:
    wide = {"width": 1920, "height": 900}
    person = visit(site.address, viewport=wide)
    page = person.goto(f"/projects/{place.project}/runs")
    everything = [run["id"] for run in listed(site.cluster, place, "", "id=desc")]
    expect_rows(page, everything)
    ask(page, QUERY)
    found = matching(site, place, "id=desc")
    expect_rows(page, found)
    page.get_by_role("button", name="Columns", exact=True).click()
    page.get_by_placeholder("Find a column").fill("lr")
    page.get_by_role("checkbox", name="lr", exact=True).check()
    page.keyboard.press("Escape")
    head = grid(page).get_by_role("columnheader")
    head.filter(has_text="Searcher metric value").get_by_role("button").first.click()
    by_metric = matching(site, place, "searcherMetricsVal=asc")
    assert by_metric != found
    expect_rows(page, by_metric)
    assert "hp.lr" in columns(page)

    other = visit(site.address, "ada", viewport=wide).page
    other.goto(page.url)
    expect_rows(other, by_metric)
    assert columns(other) == columns(page)
    expect(other.get_by_role("combobox", name="Query")).to_have_value(QUERY)
    sorted_by = grid(other).locator("[role=columnheader][aria-sort=ascending]")
    expect(sorted_by).to_contain_text("Searcher metric value")

    page.go_back()
    expect_rows(page, found)
    page.go_back()
    expect(head.filter(has_text="lr")).to_have_count(0)
    page.go_back()
    expect_rows(page, everything)
    expect(page.get_by_role("combobox", name="Query")).to_have_value("")
    page.go_forward()
    expect_rows(page, found)


def test_a_list_begins_with_metrics_and_varying_hyperparameters(
    site: Site, place: Place, admin: Any
) -> None:
    page = admin.goto(f"/projects/{place.project}/runs")
    expect_rows(page, [run["id"] for run in listed(site.cluster, place, "", "id=desc")])
    shown = columns(page)
    assert {"validation.epochs.last", "hp.lr"} <= set(shown)
    assert "validation.loss.last" not in shown, "the searcher's metric has its own column"
    assert "cols" not in page.url
    ask(page, "hp.lr=0.1")
    expect(grid(page).locator("[data-column='hp.lr']")).to_have_count(0)


def test_a_row_is_looked_at_without_leaving_the_list(site: Site, place: Place, admin: Any) -> None:
    page = admin.goto(f"/projects/{place.project}/runs")
    ids = [run["id"] for run in listed(site.cluster, place, "", "id=desc")]
    newest, second = ids[:2]
    expect_rows(page, ids)
    page.keyboard.press("j")
    page.keyboard.press("Space")
    expect(page.get_by_role("complementary", name=f"Trial {newest}")).to_be_visible()
    page.keyboard.press("j")
    peek = page.get_by_role("complementary", name=f"Trial {second}")
    expect(peek).to_contain_text("validation loss")
    page.reload()
    expect(peek).to_be_visible()
    grid(page).press("Escape")
    expect(peek).to_be_hidden()
