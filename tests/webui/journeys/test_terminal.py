"""The terminal of a shell: commands, size, keys, and the ends of its sessions."""

from __future__ import annotations

import os
import re
import shutil
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from playwright.sync_api import Locator, Page, WebSocketRoute, expect
from tests.e2e.cluster import until
from tests.webui.axe import violations
from tests.webui.conftest import Site
from tests.webui.scene import Place, new_name, new_place
from tests.webui.tables import open_acts, row_of

pytestmark = [pytest.mark.e2e, pytest.mark.slow, pytest.mark.xdist_group("webui-2")]
CONNECTED = "Connected. The programs in this terminal end when the page is closed."


@pytest.fixture(scope="module")
def place(site: Site) -> Iterator[Place]:
    search = os.pathsep.join([os.environ["PATH"], "/usr/sbin"])
    if not shutil.which("sshd", path=search):
        pytest.skip("there is no sshd here (Debian's package openssh-server)")
    if os.getuid() == 0:
        Path("/run/sshd").mkdir(exist_ok=True)
    made = new_place(site.cluster, "terminals")
    yield made
    for task in site.cluster.get("/api/v1/shells", workspaceId=made.workspace)["shells"]:
        site.cluster.post(f"/api/v1/shells/{task['id']}/kill")


class Shell:
    """A running shell of the admin."""

    def __init__(self, place: Place, user: str = "admin") -> None:
        self.cluster = place.cluster
        self.name = new_name("shell")
        config = {"description": self.name, "resources": {"slots": 0}}
        body = {"config": config, "workspaceId": place.workspace}
        self.id = str(self.cluster.post("/api/v1/shells", body, user)["shell"]["id"])
        until(self._is_ready, what="the shell's ssh server")

    @property
    def path(self) -> str:
        return f"/shell/{self.id}/terminal"

    def _is_ready(self) -> bool:
        task = self.cluster.get(f"/api/v1/tasks/{self.id}")["task"]
        return any(each.get("isReady") for each in task["allocations"])

    def kill(self) -> None:
        self.cluster.post(f"/api/v1/shells/{self.id}/kill")


@pytest.fixture(scope="module")
def shell(place: Place) -> Iterator[Shell]:
    made = Shell(place)
    yield made
    made.kill()


class Screen:
    """The terminal on a page."""

    def __init__(self, page: Page) -> None:
        self.page = page
        self.rows: Locator = page.locator(".xterm-rows")
        self.status = page.get_by_role("region", name="Terminal of").get_by_role("status")

    def connected(self) -> Screen:
        expect(self.status).to_have_text(CONNECTED)
        return self

    def run(self, command: str) -> None:
        """Type a command and Enter."""
        self.page.get_by_role("textbox", name="Terminal of").press_sequentially(command)
        self.page.keyboard.press("Enter")

    def shows(self, text: str | re.Pattern[str]) -> None:
        expect(self.rows).to_contain_text(text)

    def answers(self, sum_of: int) -> None:
        """The login shell works: it adds, so the echo of the command is no answer."""
        self.run(f"echo sum=$(({sum_of}-1+1))")
        self.shows(f"sum={sum_of}")


def opened(visitor: Any, shell: Shell) -> Screen:
    return Screen(visitor.goto(shell.path)).connected()


def test_a_shell_is_entered_from_its_row_and_answers_a_typed_command(
    place: Place, shell: Shell, admin: Any
) -> None:
    page: Page = admin.goto(f"/tasks?workspace={place.workspace}&type=shell")
    row_of(page, "Tasks", shell.name).get_by_role("link", name="Terminal").click()
    expect(page).to_have_url(admin.url(shell.path))
    screen = Screen(page).connected()
    screen.answers(42)
    page.goto(admin.url(f"/tasks?workspace={place.workspace}&type=shell"))
    open_acts(page, shell.name)
    page.get_by_role("menuitem", name="Terminal", exact=True).click()
    Screen(page).connected().answers(43)


def test_the_terminal_follows_the_size_of_the_window(shell: Shell, admin: Any) -> None:
    screen, sizes = opened(admin, shell), []
    for width, height in ((1280, 800), (900, 600)):
        admin.page.set_viewport_size({"width": width, "height": height})
        lines = screen.rows.locator("> div")
        if sizes:
            expect(lines).not_to_have_count(sizes[0])
        count = lines.count()
        screen.run("clear; echo lines=$(stty size | cut -d ' ' -f 1).")
        screen.shows(f"lines={count}.")
        sizes.append(count)
    assert sizes[1] < sizes[0]


def test_a_reload_opens_a_new_session_and_the_old_one_ends(shell: Shell, admin: Any) -> None:
    screen = opened(admin, shell)
    screen.run("echo pid=$$.")
    screen.shows(re.compile(r"pid=\d+\."))
    found = re.search(r"pid=(\d+)\.", screen.rows.inner_text())
    assert found is not None
    admin.page.reload()
    screen.connected().answers(12)
    screen.run(f"until ! kill -0 {found[1]}; do sleep 0.1; done; echo it has $((0))ended")
    screen.shows("it has 0ended")


def test_text_is_copied_and_pasted_by_keyboard_and_the_focus_leaves(
    site: Site, shell: Shell, visit: Callable[..., Any]
) -> None:
    visitor = visit(site.address, permissions=["clipboard-read", "clipboard-write"])
    screen, page = opened(visitor, shell), visitor.page
    screen.answers(7)
    page.keyboard.press("Control+Shift+C")
    expect(page.get_by_role("status").filter(has_text="Copied.")).to_be_visible()
    assert "sum=7" in page.evaluate("navigator.clipboard.readText()")
    page.evaluate("navigator.clipboard.writeText('echo pasted=$((3*3))')")
    page.keyboard.press("Control+Shift+V")
    screen.shows("echo pasted=")
    page.keyboard.press("Enter")
    screen.shows("pasted=9")
    page.keyboard.press("Tab")  # the program's
    expect(page.get_by_role("textbox", name="Terminal of")).to_be_focused()
    page.keyboard.press("Control+Shift+L")
    expect(page.get_by_role("button", name="Copy", exact=True)).to_be_focused()
    page.keyboard.press("Tab")
    expect(page.get_by_role("checkbox", name="Screen reader")).to_be_focused()


def test_keys_of_the_page_are_those_of_the_program(shell: Shell, admin: Any) -> None:
    screen = opened(admin, shell)
    screen.page.get_by_role("textbox", name="Terminal of").press_sequentially("lost")
    screen.page.keyboard.press("Control+U")
    screen.page.get_by_role("textbox", name="Terminal of").press_sequentially("echo g?/ $((1+1))0")
    screen.page.keyboard.press("Control+K")
    screen.page.keyboard.press("Enter")
    screen.shows("g?/ 20")
    expect(screen.page.get_by_role("dialog")).to_have_count(0)
    expect(screen.page).to_have_url(admin.url(shell.path))


def test_an_ended_login_shell_says_why_and_another_is_opened(shell: Shell, admin: Any) -> None:
    screen = opened(admin, shell)
    screen.run("exit 3")
    expect(screen.status).to_have_text("The shell exited with status 3.")
    screen.page.get_by_role("button", name="New session").click()
    screen.connected().answers(5)


def test_a_dropped_connection_is_said_and_opened_again(shell: Shell, admin: Any) -> None:
    sockets: list[WebSocketRoute] = []

    def carry(socket: WebSocketRoute) -> None:
        sockets.append(socket)
        socket.connect_to_server()

    admin.page.route_web_socket(re.compile("/terminal$"), carry)
    screen = opened(admin, shell)
    screen.answers(8)
    sockets[0].close(code=1012)
    screen.shows("The connection was lost. The programs of this terminal have ended.")
    screen.shows("A new session.")
    screen.connected().answers(9)
    assert len(sockets) == 2


def test_the_reason_of_a_refusal_is_shown(
    site: Site, place: Place, visit: Callable[..., Any]
) -> None:
    theirs = Shell(place, user="determined")
    screen = Screen(visit(site.address).goto(theirs.path))
    expect(screen.status).to_contain_text("only the owner of shell")
    theirs.kill()


@pytest.mark.parametrize("theme", ["light", "dark"])
def test_the_terminal_is_accessible_in_both_themes(
    site: Site, shell: Shell, visit: Callable[..., Any], theme: str
) -> None:
    visitor = visit(site.address, color_scheme=theme)
    screen = opened(visitor, shell)
    screen.run("printf '\\033[31mred\\033[32mgreen\\033[33myellow\\033[34mblue\\033[37mwhite\\n'")
    screen.shows("redgreenyellowbluewhite")
    assert violations(visitor.page) == []
    ground = screen.page.evaluate(
        "getComputedStyle(document.querySelector('.xterm-scrollable-element')).backgroundColor"
    )
    token = "rgb(255, 255, 255)" if theme == "light" else "rgb(21, 27, 34)"
    assert ground == token


def test_the_end_of_the_task_is_said(place: Place, admin: Any) -> None:
    shell = Shell(place)
    screen = opened(admin, shell)
    screen.answers(6)
    shell.kill()
    expect(screen.status).to_contain_text("has ended")
    admin.page.reload()
    expect(admin.page.get_by_role("heading", name="The shell has ended")).to_be_visible()
