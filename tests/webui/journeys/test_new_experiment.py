"""A new experiment from nothing: files, a template or a text, checked before it is made."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import pytest
from playwright.sync_api import Locator, Page, Request, expect
from tests.webui.conftest import Site
from tests.webui.scene import Place, new_name, new_place

pytestmark = [pytest.mark.e2e, pytest.mark.slow, pytest.mark.xdist_group("webui-2")]

TRAIN = """
import sys
from determined import core

sys.path.insert(0, "lib dir")
import helper

assert open("weights.bin", "rb").read() == bytes(range(256))
with core.init(tensorboard_mode=core.TensorboardMode.MANUAL) as context:
    context.train.report_validation_metrics(1, {"loss": helper.LOSS})
"""
CONFIG = """\
# of the folder
name: {name}
entrypoint: python3 train.py
max_restarts: 0
searcher: {{name: single, metric: loss}}
hyperparameters: {{lr: {{type: log, base: 10, minval: -3, maxval: -1}}}}
"""
PASTED = """\
name: pasted
workspace: {place}
project: {place}
entrypoint: 'true'
searcher: {{name: single, metric: loss}}
"""
PASTE = """(element, text) => {
  const clipboardData = new DataTransfer();
  clipboardData.setData("text/plain", text);
  const how = { clipboardData, bubbles: true, cancelable: true };
  element.dispatchEvent(new ClipboardEvent("paste", how));
}"""
DROP = """([path, size]) => {
  const file = new File([new Uint8Array(size)], "one");
  Object.defineProperty(file, "webkitRelativePath", { value: path });
  const items = [{ webkitGetAsEntry: () => null, getAsFile: () => file }];
  const event = new Event("drop", { bubbles: true, cancelable: true });
  event.dataTransfer = { items };
  const buttons = [...document.querySelectorAll("button")];
  buttons.find((each) => each.textContent === "Choose files").dispatchEvent(event);
}"""
"""Drops a file that lies below folders, as a page gets one."""


@pytest.fixture(scope="module")
def place(site: Site) -> Place:
    return new_place(site.cluster, "new")


def folder_at(root: Path, name: str) -> Path:
    """A folder as people have them: code, a binary file, strange names, data to leave out."""
    folder = root / "my code"
    files = {
        "train.py": TRAIN.encode(),
        "config.yaml": CONFIG.format(name=name).encode(),
        "weights.bin": bytes(range(256)),
        "lib dir/helper.py": b"LOSS = 0.25\n",
        "ünusual 'name' & <b>.txt": b"x",
        ".detignore": b"data/\n",
        "data/large.csv": b"1\n" * 1000,
        "__pycache__/train.pyc": b"x",
    }
    for path, content in files.items():
        (folder / path).parent.mkdir(parents=True, exist_ok=True)
        (folder / path).write_bytes(content)
    return folder


def dialog_at(admin: Any, path: str) -> Locator:
    page: Page = admin.page
    page.goto(admin.url(path))
    dialog = page.get_by_role("dialog", name="New experiment")
    dialog.wait_for()
    return dialog


def choose(dialog: Locator, button: str, what: Any) -> None:
    with dialog.page.expect_file_chooser() as chooser:
        dialog.get_by_role("button", name=button).click()
    chooser.value.set_files(what)


def show_yaml(dialog: Locator) -> Locator:
    dialog.get_by_role("radio", name="YAML").click()
    return dialog.get_by_role("textbox")


def creates(request: Request) -> bool:
    """Whether a request makes an experiment, and does not only check one."""
    if request.method != "POST" or not request.url.endswith("/api/v1/experiments"):
        return False
    return not request.post_data_json["validateOnly"]


def test_a_folder_becomes_an_experiment_that_completes(
    place: Place, admin: Any, tmp_path: Path
) -> None:
    name = new_name("uploaded")
    page: Page = admin.page
    page.goto(admin.url(f"/projects/{place.project}/runs"))
    page.get_by_role("button", name="New experiment").first.click()
    dialog = page.get_by_role("dialog", name="New experiment")
    choose(dialog, "Choose a folder", folder_at(tmp_path, name))
    files = dialog.get_by_role("list", name="Files")
    expect(files.get_by_role("listitem")).to_have_count(5)
    expect(files).to_contain_text("lib dir/helper.py")
    expect(files).to_contain_text("ünusual 'name' & <b>.txt")
    expect(files).to_contain_text("256 B")
    expect(dialog.get_by_text(re.compile("5 files, .*; 2 left out by .detignore"))).to_be_visible()
    # The configuration of the folder, in the project of the page.
    expect(dialog.get_by_label("Name", exact=True)).to_have_value(name)
    expect(dialog.get_by_label("Workspace")).to_have_value(place.name)
    expect(dialog.get_by_text(re.compile("^1 trial of 1 slot"))).to_be_visible()
    expect(dialog.get_by_role("row").filter(has_text="lr")).to_contain_text("0.001to0.1")
    dialog.get_by_role("button", name="Create", exact=True).click()
    expect(page).to_have_url(re.compile(r"/experiments/\d+/overview$"))
    found = re.search(r"/experiments/(\d+)/", page.url)
    assert found is not None
    experiment = int(found[1])
    assert place.cluster.wait(experiment) == "COMPLETED"
    expect(page.get_by_text("Completed", exact=True).first).to_be_visible()
    shown = place.cluster.get(f"/api/v1/experiments/{experiment}")["experiment"]
    assert shown["projectId"] == place.project
    assert shown["originalConfig"].startswith("# of the folder\n")


def test_single_files_replace_each_other_and_can_be_removed(place: Place, admin: Any) -> None:
    dialog = dialog_at(
        admin, f"/projects/{place.project}/runs?launch=experiment&launch.project={place.project}"
    )

    def file(name: str, text: str) -> dict[str, Any]:
        return {"name": name, "mimeType": "text/plain", "buffer": text.encode()}

    choose(dialog, "Choose files", [file("a.py", "x"), file("train.py", "pass")])
    choose(dialog, "Choose files", [file("a.py", "xyz")])
    items = dialog.get_by_role("list", name="Files").get_by_role("listitem")
    expect(items).to_have_text([re.compile("^a.py ?3 B"), re.compile("^train.py ?4 B")])
    expect(dialog.get_by_text("is not among the files")).to_have_count(0)
    dialog.get_by_role("button", name="Remove train.py").click()
    expect(items).to_have_count(1)
    expect(
        dialog.get_by_text("The entrypoint names train.py, which is not among the")
    ).to_be_visible()
    # Chosen files are not lost by a key.
    admin.page.keyboard.press("Escape")
    question = admin.page.get_by_role("dialog", name=re.compile("Discard"))
    question.get_by_role("button", name="Discard").click()
    expect(dialog).to_have_count(0)
    assert "launch" not in admin.page.url


def test_files_that_the_master_refuses_are_named_and_not_sent(place: Place, admin: Any) -> None:
    page: Page = admin.page
    sent: list[Request] = []
    page.on("request", lambda request: sent.append(request))
    dialog = dialog_at(admin, "/dashboard?launch=experiment")
    problems = dialog.get_by_role("group", name="Files").get_by_role("alert")
    create = dialog.get_by_role("button", name="Create", exact=True)
    dialog.get_by_label("Entrypoint").fill("")
    expect(
        dialog.get_by_text(re.compile("managed experiments require entrypoint"))
    ).to_be_visible()
    expect(create).to_have_attribute("aria-disabled", "true")
    dialog.get_by_label("Entrypoint").fill("python3 t.py")
    expect(create).not_to_have_attribute("aria-disabled", "true")
    page.evaluate(DROP, ["data/big.bin", 97 * 2**20])
    expect(problems).to_contain_text(
        "The files have 97 MiB, at most 96 MiB can be sent. The largest: data/big.bin (97 MiB)."
    )
    expect(create).to_have_attribute("aria-disabled", "true")
    create.click(force=True)
    dialog.get_by_role("button", name="Remove data/big.bin").click()
    expect(create).not_to_have_attribute("aria-disabled", "true")
    page.evaluate(DROP, ["../../etc/passwd", 4])
    expect(problems).to_contain_text(
        'The path "../../etc/passwd" leads out of the folder: rename the file or remove it.'
    )
    expect(create).to_have_attribute("aria-disabled", "true")
    assert not any(map(creates, sent))


def test_a_template_gives_the_values_that_the_text_leaves_out(place: Place, admin: Any) -> None:
    template = new_name("base")
    config = {
        "entrypoint": "true",
        "searcher": {"name": "single", "metric": "loss"},
        "resources": {"slots_per_trial": 0},
    }
    body = {"name": template, "workspaceId": place.workspace, "config": config}
    place.cluster.post(f"/api/v1/templates/{template}", body)
    dialog = dialog_at(admin, f"/templates?launch=experiment&launch.template={template}")
    expect(dialog.get_by_label("Template")).to_have_value(template)
    dialog.get_by_role("button", name="Create", exact=True).click()
    expect(admin.page).to_have_url(re.compile(r"/experiments/\d+/overview$"))
    found = place.cluster.get("/api/v1/experiments", limit=1, orderBy="ORDER_BY_DESC")
    assert found["experiments"][0]["config"]["resources"]["slots_per_trial"] == 0


def test_a_pasted_text_is_checked_and_made(place: Place, admin: Any) -> None:
    page: Page = admin.page
    page.goto(admin.url("/dashboard"))
    page.keyboard.press("Control+k")
    page.get_by_role("combobox", name="Search").fill("new exp")
    page.get_by_role("option", name="New experiment").click()
    dialog = page.get_by_role("dialog", name="New experiment")
    expect(page).to_have_url(re.compile("launch=experiment"))
    editor = show_yaml(dialog)
    editor.focus()
    page.keyboard.press("Control+a")
    editor.evaluate(PASTE, PASTED.format(place=place.name))
    dialog.get_by_label("Create it paused").check()
    dialog.get_by_role("button", name="Create", exact=True).click()
    expect(page).to_have_url(re.compile(r"/experiments/\d+/overview$"))
    found = place.cluster.get("/api/v1/experiments", projectId=place.project, name="pasted")
    assert [each["state"] for each in found["experiments"]] == ["STATE_PAUSED"]
